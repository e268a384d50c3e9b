// Reading a report: pages of the text are fetched as one comes to them, a passage opens below the text,
// and two texts scroll together. Without this the links lead to pages of their own.
"use strict";
(() => {
	const one = (s, r = document) => r.querySelector(s);
	const all = (s, r = document) => Array.from(r.querySelectorAll(s));
	for (const x of all("[data-script]")) x.hidden = false;
	const keys = one("#keys");
	if (keys) {
		keys.checked = localStorage.getItem("single-keys") !== "off";
		keys.addEventListener("change", () => localStorage.setItem("single-keys", keys.checked ? "on" : "off"));
	}
	// commands calls the function of a key that is pressed outside of a field.
	const commands = (of) => document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
		if (event.key !== "Escape" && (typing || !keys || !keys.checked)) return;
		const f = of[event.key];
		if (f) {
			f();
			event.preventDefault();
		}
	});
	const fetched = async (address) => {
		const answer = await fetch(address);
		if (!answer.ok) throw new Error(String(answer.status));
		return answer.text();
	};
	const fragment = (markup) => document.createRange().createContextualFragment(markup);

	const reader = one("[data-reader]");
	if (reader) read();
	const beside = one("[data-beside]");
	if (beside) compare();

	function read() {
		const base = reader.dataset.reader, pages = +reader.dataset.pages, passages = +reader.dataset.passages;
		const sheets = one("#sheets");
		const of = new Map(); // page number to its section
		const loading = new Map(); // page number to the promise of its text
		const first = +reader.dataset.page;
		let current = 0; // passage that is open; 0: none
		let next = +reader.dataset.first;
		let wanted = 0; // passage asked for last

		for (const nav of all("nav.pages", one("#read"))) nav.hidden = true;
		const given = one(".sheet", sheets);
		of.set(first, given);
		loading.set(first, Promise.resolve(given));
		const height = Math.max(given.offsetHeight, 400);
		for (let n = 1; n <= pages; n++) {
			if (n === first) continue;
			const s = document.createElement("section");
			s.className = "sheet";
			s.id = "sheet-" + n;
			s.dataset.page = n;
			s.dataset.empty = "";
			s.style.minHeight = height + "px";
			of.set(n, s);
			if (n < first) sheets.insertBefore(s, given);
			else sheets.append(s);
		}

		// load puts the text of a page into its place, once.
		function load(n) {
			if (!loading.has(n)) {
				loading.set(n, fetched(base + "/text/" + n).then((markup) => {
					const s = of.get(n);
					s.replaceChildren(fragment(markup));
					s.style.minHeight = "";
					delete s.dataset.empty;
					if (current) paint();
					return s;
				}).catch((e) => {
					loading.delete(n); // it is tried again when one comes back to it
					throw e;
				}));
			}
			return loading.get(n);
		}
		const watcher = new IntersectionObserver((entries) => {
			for (const e of entries) if (e.isIntersecting) load(+e.target.dataset.page).catch(() => {});
		}, { rootMargin: "1500px" });
		for (const s of of.values()) watcher.observe(s);

		// go brings a mark into view, which may be on a page that is not there yet.
		async function go(page, id) {
			// The neighbours too, which would push it away when they come.
			await Promise.all([page - 1, page, page + 1].filter((n) => of.has(n)).map((n) => load(n).catch((e) => {
				if (n === page) throw e;
			})));
			const mark = document.getElementById(id);
			if (!mark) return;
			held = mark;
			hold();
			if (mark.matches("a")) mark.focus({ preventScroll: true });
		}
		// A page that is not seen has no height of its own until one comes near, and one that comes later pushes
		// what is below it: a mark is held at its place until the reader moves.
		let held = null;
		function hold() {
			if (!held) return;
			const room = window.innerHeight - (dock.hidden ? 0 : dock.offsetHeight);
			const away = Math.round(held.getBoundingClientRect().top - room / 3);
			if (away !== 0) window.scrollBy({ top: away, behavior: "instant" });
		}
		const sizes = new ResizeObserver(hold);
		for (const s of of.values()) sizes.observe(s);
		for (const moved of ["wheel", "touchstart", "pointerdown", "keydown"]) {
			window.addEventListener(moved, () => { held = null; }, { passive: true, capture: true });
		}
		const address = (href) => {
			const u = new URL(href, location.href);
			return u.pathname === base && u.hash ? { page: +(u.searchParams.get("page") || 1), id: u.hash.slice(1) } : null;
		};
		if (first > 1 && location.hash && document.getElementById(location.hash.slice(1))) go(first, location.hash.slice(1));
		else if (first > 1) given.scrollIntoView();

		// The dock shows a passage below the text.
		const dock = document.createElement("aside");
		dock.className = "dock";
		dock.hidden = true;
		dock.setAttribute("aria-label", one("#read-heading").textContent);
		const bar = document.createElement("div");
		bar.className = "bar2";
		const where = document.createElement("span");
		where.setAttribute("role", "status");
		const button = (text, name, f) => {
			const b = document.createElement("button");
			b.type = "button";
			b.className = "plain";
			b.textContent = text;
			b.setAttribute("aria-label", name);
			b.addEventListener("click", f);
			return b;
		};
		const words = reader.dataset;
		bar.append(where, button("←", words.previous, () => step(-1)), button("→", words.next, () => step(1)), button("✕", words.close, close));
		const body = document.createElement("div");
		dock.append(bar, body);
		document.body.append(dock);

		function paint() {
			for (const m of all("mark.m")) m.classList.toggle("on", +m.dataset.e === current);
		}
		async function show(n) {
			wanted = n;
			const markup = await fetched(base + "/passages/" + n + "?part=1");
			if (wanted !== n) return;
			const got = fragment(markup);
			const passage = one("[data-passage]", got);
			where.textContent = one("nav span", passage).textContent;
			body.replaceChildren(got);
			current = next = n;
			dock.hidden = false;
			dock.scrollTop = 0;
			document.body.classList.add("docked");
			paint();
			await go(+passage.dataset.text, "m" + n);
			paint();
		}
		function step(by) {
			if (passages === 0) return;
			const n = wanted ? wanted + by : Math.max(next, 1);
			show((n - 1 + passages) % passages + 1).catch(() => { location.href = base + "/passages/" + n; });
		}
		function close() {
			if (dock.hidden) return;
			dock.hidden = true;
			document.body.classList.remove("docked");
			const mark = document.getElementById("m" + current);
			current = wanted = 0;
			paint();
			if (mark) mark.focus({ preventScroll: true });
		}

		document.addEventListener("click", (event) => {
			if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
			const link = event.target.closest("a");
			if (!link) {
				const mark = event.target.closest("mark.m");
				if (mark && String(window.getSelection()) === "") show(+mark.dataset.e).catch(() => {});
				return;
			}
			const href = link.getAttribute("href");
			const passage = href && href.startsWith(base + "/passages/") && link.closest(".no, .map");
			if (passage) {
				event.preventDefault();
				show(+href.slice((base + "/passages/").length)).catch(() => { location.href = href; });
				return;
			}
			const to = href && address(href);
			if (to && of.has(to.page) && /^[mf][0-9]+$/.test(to.id)) {
				event.preventDefault();
				if (to.id[0] === "m") show(+to.id.slice(1)).catch(() => { location.href = href; });
				else go(to.page, to.id).catch(() => { location.href = href; });
			}
			if (link.matches("[data-more]")) {
				event.preventDefault();
				const item = link.closest("li");
				fetched(href + "&part=1").then((markup) => {
					const got = fragment(markup), begin = one("li", got);
					item.replaceWith(got);
					const to = begin && one("a", begin);
					if (to) to.focus();
				}).catch(() => { location.href = href; });
			}
		});
		commands({
			n: () => step(1),
			p: () => step(-1),
			c: () => {
				const link = one('a[href*="/compare?"]', body);
				if (!dock.hidden && link) location.href = link.href;
			},
			Escape: close,
		});
	}

	// compare scrolls both sides together: what stands at a third of the height of one side decides, and
	// between two places the other side moves in proportion.
	function compare() {
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
		function to(n, side) {
			if (!places[0].has(String(n)) || !places[1].has(String(n))) return;
			place = n;
			panes.forEach((pane, a) => {
				const x = places[a].get(String(n));
				pane.scrollTop = offset(pane, x) - pane.clientHeight / 3;
				ours[a] = pane.scrollTop;
				for (const [k, y] of places[a]) y.classList.toggle("on", k === String(n));
			});
			one("a", places[side].get(String(n))).focus({ preventScroll: true });
			const at = beside.getBoundingClientRect();
			if (at.top < 0 || at.bottom > window.innerHeight) beside.scrollIntoView({ behavior: "instant", block: "start" });
		}
		const numbers = () => Array.from(places[0].keys(), Number).sort((a, b) => a - b);
		const side = () => panes[1].contains(document.activeElement) ? 1 : 0;
		function step(by) {
			const ns = numbers(), i = ns.indexOf(place);
			to(i < 0 ? ns[by > 0 ? 0 : ns.length - 1] : ns[(i + by + ns.length) % ns.length], side());
		}
		document.addEventListener("click", (event) => {
			const link = event.target.closest("a.no");
			const m = link && /^#([ht])([0-9]+)$/.exec(link.getAttribute("href"));
			if (m) {
				event.preventDefault();
				to(+m[2], m[1] === "h" ? 0 : 1);
			}
		});
		commands({ n: () => step(1), p: () => step(-1), x: () => { if (place) to(place, 1 - side()); } });
		const wanted = /^#[ht]([0-9]+)$/.exec(location.hash);
		if (wanted) to(+wanted[1], 0);
	}
})();
