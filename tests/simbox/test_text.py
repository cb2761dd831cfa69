"""Texts become ids and ids words, always the same ones."""

from __future__ import annotations

from simbox.text import FIRST_WORD, VOCABULARY, Answer, prompt_seed, tokenize, word


def test_tokens_are_in_the_vocabulary_and_repeat() -> None:
    ids = tokenize("def main(argv):\n    return 0")
    assert ids == tokenize("def main(argv):\n    return 0")
    assert len(ids) > 6
    assert all(FIRST_WORD <= i < VOCABULARY for i in ids)
    assert tokenize("")


def test_a_word_needs_no_escaping() -> None:
    assert all(word(i).isascii() and word(i).strip().isalpha() for i in range(0, VOCABULARY, 997))


def test_an_answer_belongs_to_its_prompt() -> None:
    one, again, other = (Answer(prompt_seed(tokenize(t))) for t in ("a", "a", "b"))
    # Asked for in different pieces, it is still the same.
    pieces = [*one.tokens(0, 3), *one.tokens(3, 1), *one.tokens(4, 12)]
    assert pieces == again.tokens(0, 16) != other.tokens(0, 16)


def test_the_drafter_is_part_of_what_is_accepted() -> None:
    assert prompt_seed([1, 2]) != prompt_seed([1, 2], "/draft")
