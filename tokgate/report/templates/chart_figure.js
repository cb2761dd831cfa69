// A figure of the page: what is chosen in it, its panels above each other, the list of its series.
const PRINTED = 660; // CSS pixels that fit a sheet of paper

class Chart {
  constructor(data) {
    this.data = data;
    // Panels above each other have the same windows: told once, and named in the first.
    for (const { panels } of data.views) {
      for (const panel of panels.filter((p) => p.shares)) {
        panel.lines = panels[0].lines;
        panel.bands = (panels[0].bands || []).map((band) => Object.assign({}, band, { tag: "" }));
      }
    }
    this.root = document.getElementById(`chart-${data.id}`);
    this.picture = this.root.querySelector(".picture");
    this.legend = this.root.querySelector(".legend");
    this.heard = node("div", "heard");
    this.heard.setAttribute("role", "status");
    this.root.append(this.heard);
    this.chosen = [...(data.views[0].chosen || [])];
    this.hidden = new Set();
    this.log = false;
    this.panels = [];
    this.controls();
    this.draw();
  }

  view() {
    const same = (v, many) => (v.chosen || []).slice(0, many).every((c, i) => c === this.chosen[i]);
    const { views } = this.data;
    return views.find((v) => same(v, this.chosen.length)) || views.find((v) => same(v, 1)) || views[0];
  }

  colour(tone, prefix = "--tone-") {
    return getComputedStyle(this.root).getPropertyValue(prefix + tone).trim();
  }

  controls() {
    const bar = this.root.querySelector(".controls");
    (this.data.choices || []).forEach((name, place) => {
      const options = [...new Set(this.data.views.map((v) => v.chosen[place]))];
      if (options.length < 2) return;
      const label = node("label", "", `${name} `);
      const select = node("select");
      options.forEach((o) => select.append(node("option", "", o)));
      select.addEventListener("change", () => {
        this.chosen[place] = select.value;
        const found = this.view();
        this.chosen = [...found.chosen];
        bar.querySelectorAll("select").forEach((s) => { s.value = this.chosen[Number(s.dataset.place)]; });
        this.hidden.clear();
        this.draw();
      });
      select.dataset.place = String(place);
      label.append(select);
      bar.append(label);
    });
    if (this.data.views.some((v) => v.panels.some((p) => p.x.log || p.y.log))) {
      const label = node("label");
      const box = node("input");
      box.type = "checkbox";
      box.addEventListener("change", () => { this.log = box.checked; this.draw(); });
      label.append(box, document.createTextNode(" logarithmic"));
      bar.append(label);
    }
    bar.append(node("span", "hint", "drag to look closer, double-click for all"));
  }

  draw(width) {
    this.panels.forEach((p) => p.plot && p.plot.destroy());
    this.picture.replaceChildren();
    const wide = width || Math.floor(this.picture.clientWidth) || PRINTED;
    this.wide = wide;
    this.panels = this.view().panels.map((spec, i) => new Panel(this, spec, i));
    this.panels.forEach((p) => p.draw(this.picture, wide));
    this.list();
  }

  resize() {
    const wide = Math.floor(this.picture.clientWidth);
    if (wide && wide !== this.wide) this.draw();
  }

  whole() {
    this.panels.forEach((p) => p.plot.setScale("x", { min: p.x[0], max: p.x[1] }));
  }

  zoom(panel, factor) {
    const { min, max } = panel.plot.scales.x;
    const { focus } = panel.pointer;
    const middle = focus ? focus.trace.xs[focus.i] : (min + max) / 2;
    const half = ((max - min) / 2) * factor;
    const low = Math.max(panel.x[0], middle - half);
    const high = Math.min(panel.x[1], middle + half);
    this.panels.forEach((p) => p.plot.setScale("x", { min: low, max: high }));
  }

  list() {
    const seen = new Set();
    const items = [];
    const add = (label, note, swatch, trace) => {
      if (!label || seen.has(label)) return;
      seen.add(label);
      const item = node("li");
      if (trace) {
        const button = node("button");
        button.type = "button";
        button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
        button.append(swatch, node("span", "", label));
        button.addEventListener("click", () => {
          if (!this.hidden.delete(label)) this.hidden.add(label);
          this.draw();
          const again = [...this.legend.querySelectorAll("button")].find((b) => b.lastChild.textContent === label);
          if (again) again.focus();
        });
        item.append(button);
      } else item.append(swatch, node("span", "", label));
      if (note) item.append(node("span", "said", note));
      items.push(item);
    };
    const { panels } = this.view();
    for (const p of panels) for (const t of p.traces) add(t.label, t.note, swatchOf(t, this.colour(t.tone)), true);
    for (const p of panels) {
      for (const l of p.lines || []) if (!l.quiet) add(l.label, "", swatchOf(Object.assign({ draw: "line" }, l), this.colour(l.tone)));
      for (const b of p.bands || []) if (!b.quiet) add(b.label, "", swatchOf(Object.assign({ draw: "band" }, b), this.colour(b.tone)));
    }
    this.legend.replaceChildren(...items);
  }
}
