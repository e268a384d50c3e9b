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

	document.addEventListener("click", (event) => {
		const b = event.target.closest("[data-dismiss]");
		if (b) b.closest(".toast").remove();
	});
	const reader = one("[data-reader]");
	if (reader) read();

	function read() {
		const base = reader.dataset.reader, pages = +reader.dataset.pages;
		const here = reader.dataset.here || base, laidOut = here !== base; // pages of the original, or of the text
		const whole = () => laidOut ? reader.dataset.sheets.replace("&part=1", "").replace("{n}", first) : base + filter();
		let places = (reader.dataset.places || "").split(" "); // page here of each passage, if laid out; 0: none
		const list = (text) => text ? text.split(" ") : [];
		let numbers = list(reader.dataset.numbers); // of passages: 7, 7b
		let walk = list(reader.dataset.walk); // of those that one walks through
		// filter is that of leads, which the address keeps.
		const filter = () => {
			const kept = Array.from(new URLSearchParams(location.search)).filter(([name]) => name.startsWith("lead-"));
			return kept.length ? "?" + new URLSearchParams(kept) : "";
		};
		const sheets = one("#sheets");
		const of = new Map(); // page number to its section
		const loading = new Map(); // page number to the promise of its text
		const first = +reader.dataset.page;
		let current = ""; // passage that is open; empty: none
		let next = reader.dataset.first;
		let wanted = ""; // passage asked for last
		let only = null; // {letter, passages}: of one source, which alone are marked

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
			s.dataset.later = "";
			s.dataset.empty = "";
			s.style.minHeight = height + "px";
			of.set(n, s);
			if (n < first) sheets.insertBefore(s, given);
			else sheets.append(s);
		}

		// load puts the text of a page into its place, once, and again after a change of the rules.
		function load(n) {
			if (!loading.has(n)) {
				const coming = fetched(laidOut ? reader.dataset.sheets.replace("{n}", n) : base + "/text/" + n + filter()).then((markup) => {
					if (loading.get(n) !== coming) return load(n); // the rules changed meanwhile
					const s = of.get(n);
					keepPlace(() => swap(s, fragment(markup)));
					s.style.minHeight = "";
					delete s.dataset.empty;
					if (held && !held.isConnected) held = document.getElementById(held.id);
					paint();
					return s;
				}).catch((e) => {
					if (loading.get(n) === coming) loading.delete(n); // it is tried again when one comes back to it
					throw e;
				});
				loading.set(n, coming);
			}
			return loading.get(n);
		}
		// swap gives a part of the page other content, in which the same link has the focus and the same folds are open.
		function swap(part, content) {
			const focus = part.contains(document.activeElement) && part !== document.activeElement ? document.activeElement : null;
			const open = all("details", part).map((d) => d.open);
			part.replaceChildren(...content.childNodes);
			const folds = all("details", part);
			if (folds.length === open.length) folds.forEach((d, i) => { d.open = open[i]; });
			if (!focus) return;
			const same = focus.id ? "#" + CSS.escape(focus.id) : 'a[href="' + CSS.escape(focus.getAttribute("href") || "") + '"]';
			const to = one(same, part) || part; // what is gone leaves the focus where it was
			if (to === part) part.tabIndex = -1;
			to.focus({ preventScroll: true });
		}
		// keepPlace changes the page while the paragraph at the upper edge of the window stays at its place. The browser does that
		// by itself as long as that paragraph remains.
		let following = false;
		function keepPlace(change) {
			const s = following && !held && Array.from(of.values()).find((x) => x.getBoundingClientRect().bottom > 0);
			const edge = s ? all(".body > *, .leaf", s).findIndex((p) => p.getBoundingClientRect().bottom > 0) : -1;
			const top = () => edge < 0 ? undefined : all(".body > *, .leaf", s)[edge]?.getBoundingClientRect().top;
			const before = top();
			change();
			const after = top();
			if (before !== undefined && after !== undefined) window.scrollBy({ top: after - before, behavior: "instant" });
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
			const room = window.innerHeight - (dock.hidden || getComputedStyle(dock).position !== "fixed" ? 0 : dock.offsetHeight);
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
			return u.pathname === here && u.hash && !u.searchParams.has("passage") ? { page: +(u.searchParams.get("page") || 1), id: u.hash.slice(1) } : null;
		};
		if (first > 1 && location.hash && document.getElementById(location.hash.slice(1))) go(first, location.hash.slice(1));
		else if (first > 1) given.scrollIntoView();

		// The dock shows a passage next to the text, on a narrow screen below it.
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
		const side = one("#side");
		side.prepend(dock);

		function paint() {
			for (const m of all(".m[data-e]")) {
				m.classList.toggle("on", m.dataset.e === current);
				if (only) m.classList.toggle("dim", !only.passages.includes(m.dataset.e));
			}
		}
		// choose marks the passages of one source only, or all again.
		const note = one(".only-note") || document.createElement("p");
		note.className = "only-note";
		note.setAttribute("role", "status");
		function choose(li) {
			const letter = li && one(".sq", li).textContent;
			for (const x of all(".map path.only")) x.remove();
			reader.classList.remove("choosing");
			for (const x of all(".ranked li.chosen")) x.classList.remove("chosen");
			if (!li || only && only.letter === letter) {
				only = null;
				note.remove();
				for (const m of all(".m.dim")) m.classList.remove("dim");
				history.replaceState(null, "", whole() + location.hash);
				return;
			}
			only = { letter, passages: all("[data-e]", li).map((a) => a.dataset.e) };
			only.passages.sort((a, b) => numbers.indexOf(a) - numbers.indexOf(b));
			li.classList.add("chosen");
			const back = document.createElement("a");
			back.href = whole();
			back.dataset.all = "";
			back.textContent = reader.dataset.all;
			note.replaceChildren(reader.dataset.showing.replace("{s}", letter) + " ", back);
			one("#read").prepend(note);
			const svg = one(".map svg"), strip = one(".strip path", li);
			if (svg && strip) {
				const p = strip.cloneNode();
				p.setAttribute("class", "only f-" + (Array.from(one(".sq", li).classList).find((c) => /^so[0-9]/.test(c)) || "so9"));
				p.setAttribute("transform", "scale(1 3.75)");
				svg.append(p);
				reader.classList.add("choosing");
			}
			paint();
			if (only.passages.length) show(only.passages[0], true).catch(() => {});
		}
		async function show(n, still) {
			wanted = n;
			const markup = await fetched(base + "/passages/" + n + "?part=1");
			if (wanted !== n) return;
			const got = fragment(markup);
			const passage = one("[data-passage]", got);
			where.textContent = passage.dataset.where;
			for (const at of all('input[name="at"][value="passage"]', got)) at.value = laidOut ? "pages" : "text";
			if (only) for (const pair of all(".pair", got)) pair.open = one(".sq", pair).textContent === only.letter;
			if (still && dock.hidden) { // the list of sources stays
				await bring(n, passage);
				next = n;
				wanted = "";
				return;
			}
			body.replaceChildren(got);
			current = next = n;
			dock.hidden = false;
			dock.scrollTop = side.scrollTop = 0;
			document.body.classList.add("docked");
			paint();
			await bring(n, passage);
			paint();
		}
		// bring shows the mark of a passage, if it has one here.
		async function bring(n, passage) {
			const page = laidOut ? +places[numbers.indexOf(n)] : +passage.dataset.text;
			if (page > 0) await go(page, "m" + n);
		}
		function step(by) {
			const among = only ? only.passages : walk;
			if (among.length === 0) return;
			const here = wanted || next;
			let at = among.indexOf(here) + (wanted ? by : 0);
			if (!among.includes(here)) { // from a passage that does not count to its neighbour that does
				const place = numbers.indexOf(here), later = among.findIndex((e) => numbers.indexOf(e) > place);
				at = by < 0 ? (later < 0 ? among.length : later) - 1 : Math.max(later, 0);
			}
			const n = among[(at + among.length) % among.length];
			show(n).catch(() => { location.href = base + "/passages/" + n; });
		}
		function leave() {
			dock.hidden = true;
			document.body.classList.remove("docked");
			current = wanted = "";
			paint();
		}
		function close() {
			if (dock.hidden) return;
			const mark = document.getElementById("m" + current);
			leave();
			if (mark) mark.focus({ preventScroll: true });
			catchUp();
		}

		document.addEventListener("click", (event) => {
			if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
			const link = event.target.closest("a");
			if (!link) {
				// A frame of a flag lies over the passage on a page as laid out.
				const framed = event.target.closest(".flagged");
				const mark = framed ? document.elementsFromPoint(event.clientX, event.clientY).map((x) => x.closest("a.m")).find(Boolean) : event.target.closest("mark.m");
				if (mark && String(window.getSelection()) === "") show(mark.dataset.e).catch(() => {});
				return;
			}
			const href = link.getAttribute("href");
			if (link.matches("a.only")) {
				event.preventDefault();
				choose(link.closest("li"));
				return;
			}
			if (link.dataset.all !== undefined) {
				event.preventDefault();
				choose(null);
				return;
			}
			const passage = href && href.startsWith(base + "/passages/") && link.closest(".no, .map, .marks, .unplaced, .remark");
			if (passage) {
				event.preventDefault();
				const n = href.slice((base + "/passages/").length);
				// The number of the open passage leads the keyboard to its decisions, which follow all other numbers.
				if (event.detail === 0 && n === current && !dock.hidden) all("a, button, input, summary", body).find((x) => x.checkVisibility())?.focus();
				else show(n).catch(() => { location.href = href; });
				return;
			}
			const to = href && address(href);
			if (to && of.has(to.page) && /^(m[0-9]+[a-z]*|f[0-9]+|tL[0-9]+)$/.test(to.id)) {
				event.preventDefault();
				if (to.id[0] === "m") show(to.id.slice(1)).catch(() => { location.href = href; });
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
		// Sources are sorted and sifted in their place.
		const sift = one("form.find");
		let lastList = 0;
		const relist = async () => {
			const mine = ++lastList;
			const query = new URLSearchParams(new FormData(sift));
			const markup = await fetched(base + "/sources?" + query + "&part=1");
			if (mine === lastList) swap(one("[data-list]"), fragment(markup));
		};
		if (sift) {
			sift.addEventListener("input", () => relist().catch(() => {}));
			sift.addEventListener("submit", (event) => {
				event.preventDefault();
				relist().catch(() => {});
			});
		}
		// What others do to the check is told while one reads, and the page follows where that disturbs no one.
		let latest = +reader.dataset.latest, shown = latest; // of the notes and changes: told, and seen in the text
		const edited = (field) => {
			if (field.type === "checkbox") return field.checked !== field.defaultChecked;
			if (field.options) return field.selectedIndex !== Math.max(0, Array.from(field.options).findIndex((o) => o.defaultSelected));
			return field.type !== "hidden" && field.value !== field.defaultValue;
		};
		// busy: someone reads a passage or one source, has chosen words, or fills in a form.
		const busy = () => !dock.hidden || wanted || one(".only-note") || String(window.getSelection()) !== "" ||
			document.activeElement?.matches("input:not([type=checkbox]), textarea, select") ||
			all("form[method=post] :is(input, textarea, select)").some(edited);
		function catchUp() {
			if (shown < latest && !busy()) dispatchEvent(new Event("changed"));
		}
		async function follow(page) {
			if (following || shown >= latest || busy() || !one("[data-reader]", page)) return;
			if (!one("[data-list]", page) !== !one("[data-list]")) return; // the first source, or the last: the notice leads there
			await renew(page, busy);
			if (shown >= latest) for (const x of all('.toast a[href="' + base + '"]')) x.remove();
		}
		// renew makes the reader that of another page of the same report, unless someone is busy once its texts are there.
		async function renew(page, stop) {
			const now = one("[data-reader]", page);
			const seen = (s) => s.getBoundingClientRect().bottom > -1500 && s.getBoundingClientRect().top < window.innerHeight + 1500;
			following = true;
			document.documentElement.style.overflowAnchor = "none";
			try {
				for (const n of Array.from(loading.keys())) {
					loading.delete(n);
					watcher.unobserve(of.get(n)); // and is told again when it comes near
					watcher.observe(of.get(n));
				}
				await Promise.all([...Array.from(of.keys()).filter((n) => seen(of.get(n))).map(load), sift && relist()]);
				if (stop()) return; // someone began to write meanwhile: the rest is caught up later
				keepPlace(() => {
					for (const part of [".map", "#over", "#about", "#rules", "#notes"]) {
						const here = one(part), there = one(part, page);
						if (here && there) swap(here, there);
					}
				});
			} finally {
				following = false;
				document.documentElement.style.overflowAnchor = "";
			}
			places = (now.dataset.places || "").split(" ");
			numbers = list(now.dataset.numbers);
			walk = list(now.dataset.walk);
			if (now.dataset.latest !== undefined) shown = +now.dataset.latest;
		}
		// A group of passages counts, or not, without leaving the page.
		document.addEventListener("submit", (event) => {
			const form = event.target.closest("form[data-group]");
			if (!form || following) return;
			event.preventDefault();
			const sent = new URLSearchParams(new FormData(form, event.submitter));
			(async () => {
				// form.action would be the button of that name.
				const answer = await fetch(form.getAttribute("action"), { method: "POST", body: sent });
				if (!answer.ok) throw new Error(String(answer.status));
				const parse = (text) => new DOMParser().parseFromString(text, "text/html");
				let page = parse(await answer.text());
				const told = one(".toasts", page), box = one(".toasts");
				if (laidOut) page = parse(await fetched(location.href)); // the answer is the page of the text
				if (!dock.hidden) leave();
				for (const here of all("[data-live]")) {
					const next = page.getElementById(here.id);
					if (next) here.replaceWith(document.importNode(next, true));
				}
				for (const x of all("[data-script]", told || page)) x.hidden = false;
				if (told && box) box.replaceWith(told);
				else if (told) document.body.append(told);
				latest = Math.max(latest, +one("[data-reader]", page).dataset.latest);
				await renew(page, () => false);
			})().catch(() => location.reload());
		});
		if (reader.dataset.latest !== undefined) {
			addEventListener("renewed", (event) => follow(event.detail).catch(() => {})); // else it is tried again
			setInterval(async () => {
				if (document.hidden) return;
				const markup = await fetched(base + "/changes?after=" + latest).catch(() => "");
				const got = markup && one(".toasts", fragment(markup));
				if (!got) {
					catchUp();
					return;
				}
				latest = +got.dataset.latest;
				for (const x of all("[data-script]", got)) x.hidden = false;
				const box = one(".toasts");
				if (box) box.append(...got.children);
				else document.body.append(got);
				dispatchEvent(new Event("changed")); // score, notes and verdict follow
			}, 8000);
		}
		const opened = /^#m([0-9]+[a-z]*)$/.exec(location.hash);
		if (opened && numbers.includes(opened[1])) show(opened[1]).catch(() => {});
		if (new URLSearchParams(location.search).has("changed")) history.replaceState(null, "", whole() + location.hash);
		// What a link names within a fold is shown.
		const reveal = () => {
			const x = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
			for (let f = x && x.closest("details"); f; f = f.parentElement.closest("details")) f.open = true;
			if (x) x.scrollIntoView();
		};
		const revealed = () => { if (!/^#m[0-9]/.test(location.hash)) reveal(); };
		window.addEventListener("hashchange", revealed);
		revealed();
		commands({
			n: () => step(1),
			p: () => step(-1),
			c: () => {
				const link = one('a[href*="/compare?"]', body);
				if (!dock.hidden && link) location.href = link.href;
			},
			u: () => one('.toast button[value="undo"]')?.click(),
			"?": () => {
				const help = one("details.keys");
				help.open = true;
				one("summary", help).focus();
			},
			Escape: () => { if (dock.hidden && only) choose(null); else close(); },
		});
	}
})();
