// Two texts side by side: they scroll together, a place of one leads to the same place of the other, and the page opens at the
// first. Without this the numbers are links.
"use strict";
(() => {
	const one = (s, r = document) => r.querySelector(s);
	const all = (s, r = document) => Array.from(r.querySelectorAll(s));
	for (const x of all("[data-script]")) x.hidden = false;
	const keys = one("#keys"), beside = one("[data-beside]"), where = one("[data-where]");
	keys.checked = localStorage.getItem("single-keys") !== "off";
	keys.addEventListener("change", () => localStorage.setItem("single-keys", keys.checked ? "on" : "off"));
	const key = {}; // what single keys do: what the page names by data-key, and the steps below
	for (const x of all("[data-key]")) key[x.dataset.key] = () => x.click();
	key["?"] = () => {
		const help = one("details.keys");
		help.open = true;
		one("summary", help).focus();
	};
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || !keys.checked) return;
		if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
		const f = key[event.key];
		if (f) {
			f();
			event.preventDefault();
		}
	});
	if (!beside) return;
	const panes = [one("#here"), one("#there")], together = one("#together");
	const places = panes.map((p) => new Map(all("[data-place]", p).map((x) => [x.dataset.place, x])));
	const ours = [-1, -1]; // where this script scrolled each pane to
	let place = 0;
	const offset = (pane, x) => x.getBoundingClientRect().top - pane.getBoundingClientRect().top + pane.scrollTop;
	const anchors = (a) => {
		const out = [];
		for (const [n, x] of places[a]) {
			const y = places[1 - a].get(n);
			if (y) out.push([offset(panes[a], x), offset(panes[1 - a], y)]);
		}
		return out.sort((p, q) => p[0] - q[0]);
	};
	// follow scrolls the other side with side a: what stands at a third of the height of a decides, and
	// between two places the other side moves in proportion.
	function follow(a) {
		const pane = panes[a], other = panes[1 - a];
		if (!together.checked) return;
		const third = pane.clientHeight / 3, at = pane.scrollTop + third;
		const points = [[0, 0], ...anchors(a), [pane.scrollHeight, other.scrollHeight]];
		let i = 0;
		while (i + 2 < points.length && points[i + 1][0] <= at) i++;
		const [x0, y0] = points[i], [x1, y1] = points[i + 1];
		const share = x1 > x0 ? Math.min(Math.max((at - x0) / (x1 - x0), 0), 1) : 0;
		// Where the source has another order, the way to the next place leads back: stay by the nearer one.
		const y = y1 >= y0 ? y0 + share * (y1 - y0) : (share < 0.5 ? y0 : y1);
		const to = Math.round(y - third);
		if (Math.abs(other.scrollTop - to) < 2) return;
		other.scrollTop = to;
		ours[1 - a] = other.scrollTop;
	}
	panes.forEach((pane, a) => pane.addEventListener("scroll", () => {
		if (pane.scrollTop !== ours[a]) follow(a);
	}, { passive: true }));

	// to brings a place into view on both sides.
	function to(n, side, still) {
		if (!places[0].has(String(n)) || !places[1].has(String(n))) return;
		place = n;
		if (where) where.textContent = where.dataset.where.replace("{k}", n); // the number that the place bears, also where others do not count
		for (const x of all("[data-goto]")) {
			if (x.dataset.goto === String(n)) x.setAttribute("aria-current", "true");
			else x.removeAttribute("aria-current");
		}
		panes.forEach((pane, a) => {
			const x = places[a].get(String(n));
			pane.scrollTop = offset(pane, x) - pane.clientHeight / 3;
			ours[a] = pane.scrollTop;
			for (const [k, y] of places[a]) y.classList.toggle("on", k === String(n));
		});
		if (still) return;
		one("a", places[side].get(String(n))).focus({ preventScroll: true });
		// The page stays where it is while both marks are in sight, so that the buttons that decide are too.
		const unseen = ({ top, bottom }) => top < 0 || bottom > window.innerHeight;
		if (places.some((p) => unseen(one("a", p.get(String(n))).getBoundingClientRect()))) {
			beside.scrollIntoView({ behavior: "instant", block: "start" });
		}
	}
	// numbers are the places that count, in their order; where none does, all.
	const numbers = () => {
		const every = Array.from(places[0].keys(), Number).sort((a, b) => a - b);
		const counted = every.filter((n) => !("out" in places[0].get(String(n)).dataset));
		return counted.length ? counted : every;
	};
	const side = () => panes[1].contains(document.activeElement) ? 1 : 0;
	function step(by, still) {
		const ns = numbers(), i = by > 0 ? ns.find((n) => n > place) ?? ns[0] : ns.findLast((n) => n < place) ?? ns.at(-1);
		if (i) to(i, side(), still);
	}
	document.addEventListener("click", (event) => {
		const by = event.target.closest("[data-step]");
		if (by) step(+by.dataset.step, true);
		const link = event.target.closest("a.no");
		const m = link && /^#([ht])([0-9]+)$/.exec(link.getAttribute("href"));
		if (m) {
			event.preventDefault();
			to(+m[2], m[1] === "h" ? 0 : 1);
		}
	});
	Object.assign(key, { n: () => step(1), p: () => step(-1), x: () => { if (place) to(place, 1 - side()); } });
	const wanted = /^#[ht]([0-9]+)$/.exec(location.hash);
	if (wanted) to(+wanted[1], 0);
	else if (numbers().length) to(numbers()[0], 0, true);
})();
