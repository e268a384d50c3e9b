"use strict";
// Lines between the sentences of a lead that belong together. Where the sides stand below one another, numbers alone join them.
(() => {
	const make = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
	function draw(box) {
		const [here, there] = box.querySelectorAll(".side");
		let svg = box.querySelector("svg.lines");
		if (!svg) {
			svg = make("svg");
			svg.classList.add("lines");
			svg.setAttribute("aria-hidden", "true");
			box.append(svg);
		}
		svg.replaceChildren();
		const all = box.getBoundingClientRect(), left = here.getBoundingClientRect(), right = there.getBoundingClientRect();
		const flip = left.left > right.left; // a page from right to left
		if (!flip && left.right > right.left || flip && right.right > left.left) return;
		const from = (flip ? left.left : left.right) - all.left, to = (flip ? right.right : right.left) - all.left, middle = (from + to) / 2;
		const height = (mark) => {
			const r = mark.getBoundingClientRect();
			return r.top + r.height / 2 - all.top;
		};
		const far = Array.from(there.querySelectorAll("[data-pairs]"));
		for (const mark of here.querySelectorAll("[data-pairs]")) {
			for (const n of mark.dataset.pairs.split(" ")) {
				const other = far.find((x) => x.dataset.pairs.split(" ").includes(n));
				if (!other) continue;
				const path = make("path"), a = height(mark), b = height(other);
				path.setAttribute("d", `M${from} ${a}C${middle} ${a} ${middle} ${b} ${to} ${b}`);
				path.dataset.pairs = n;
				svg.append(path);
			}
		}
	}
	const sizes = new ResizeObserver((entries) => { for (const e of entries) draw(e.target); });
	// adopt begins with the boxes that have come: a part of a page is put in anew when someone else has changed something.
	const adopt = () => document.querySelectorAll(".joined:not([data-drawn])").forEach((box) => {
		box.dataset.drawn = "";
		sizes.observe(box);
		// The pair under the pointer stands out.
		box.addEventListener("pointerover", (event) => {
			const mark = event.target.closest("[data-pairs]");
			const on = mark ? mark.dataset.pairs.split(" ") : [];
			for (const x of box.querySelectorAll("[data-pairs]")) x.classList.toggle("on", x.dataset.pairs.split(" ").some((n) => on.includes(n)));
		});
	});
	adopt();
	new MutationObserver(adopt).observe(document.body, { childList: true, subtree: true });
})();
