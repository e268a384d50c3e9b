// A batch as pictures: how many pairs share how much, with a threshold that all of them follow; who shares with whom, as a
// map of all documents, as a graph, and along time. The tables of the page say the same; this script adds to them. What is seen at
// first, the histogram and the map, is drawn here; D3, six times as large, comes when someone asks for what it is needed for: the
// graph, the timeline, and a closer look at the map.
"use strict";

const box = document.querySelector("[data-charts]");
const words = box.dataset;
const css = (name) => getComputedStyle(box).getPropertyValue(name).trim();
const heat = () => [0, 1, 2, 3, 4, 5].map((i) => css("--heat-" + i));
const inPercent = (n) => words.percent.replace("{n}", n); // as the language of the page writes it
const percent = (share) => inPercent(share > 0 && share < 0.01 ? "<\u00a01" : Math.round(100 * share));
const make = (tag, attributes = {}, of = null, text = "") => {
	const e = document.createElementNS(tag === "canvas" || tag === "p" || tag === "span" ? "http://www.w3.org/1999/xhtml" : "http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
	if (text) e.textContent = text;
	if (of) of.append(e);
	return e;
};

let loading = null;
// library brings D3, once; what could not be had is asked for again.
const library = () => loading ??= new Promise((done, failed) => {
	const s = document.createElement("script");
	s.src = words.library;
	s.onload = () => done();
	s.onerror = () => {
		loading = null;
		s.remove();
		failed(new Error(s.src));
	};
	document.head.append(s);
});

// Six colours of clusters, by class: to read a colour while dots are added lays the whole page out for each of them. Documents in
// none are grey.
const clusterClass = (n) => n ? ["cluster-1", "cluster-2", "cluster-3", "cluster-4", "cluster-5", "cluster-6"][(n - 1) % 6] : "cluster-none";

const draw = (data) => {
	const docs = data.documents, pairs = data.pairs.map(([a, b, ab, ba, counts]) => ({a, b, ab, ba, share: Math.max(ab, ba), counts}));
	const slider = box.querySelector("[data-threshold]"), said = box.querySelector("[data-threshold-words]");
	const tip = box.querySelector("[data-tip]");
	const pairPath = (p) => location.pathname + "/pairs/" + docs[p.a].number + "/" + docs[p.b].number + "?" + words.kept;
	const label = (i) => docs[i].title + (docs[i].author ? " · " + docs[i].author : "");
	const tell = (event, text) => {
		tip.textContent = text;
		tip.hidden = !text;
		if (!text || !event) return;
		const r = box.getBoundingClientRect();
		tip.style.left = Math.max(0, Math.min(event.clientX - r.left + 12, r.width - tip.offsetWidth - 8)) + "px";
		tip.style.top = event.clientY - r.top + 16 + "px";
	};
	const threshold = () => Number(slider.value) / 100;
	const above = () => pairs.filter((p) => p.share >= threshold());

	// The histogram: pairs by share, in bins of five per cent. Its bars are on a root scale, since most pairs share little.
	const histogram = (svg) => {
		const width = Math.max(280, svg.clientWidth), height = 120, bins = Array(20).fill(0);
		for (const p of pairs) bins[Math.min(Math.floor(p.share * 20 + 1e-9), 19)]++;
		const most = Math.max(1, ...bins);
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		svg.replaceChildren();
		bins.forEach((count, i) => {
			const h = Math.sqrt(count / most) * (height - 34), x = 8 + i / 20 * (width - 16), w = (width - 16) / 20 - 2;
			const bar = make("rect", {x, y: height - 20 - h, width: Math.max(1, w), height: h, rx: 2, class: (i + 1) / 20 > threshold() ? "over" : "under"}, svg);
			make("title", {}, bar, words.bin.replace("%1", percent(i / 20)).replace("%2", percent((i + 1) / 20)).replace("%3", count));
			if (count) make("text", {x: x + w / 2, y: height - 24 - h, "text-anchor": "middle"}, svg, count);
		});
		for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
			make("text", {x: 8 + tick * (width - 16), y: height - 4, "text-anchor": tick === 0 ? "start" : tick === 1 ? "end" : "middle"}, svg, percent(tick));
		}
		const at = 8 + threshold() * (width - 16);
		make("line", {x1: at, x2: at, y1: 0, y2: height - 18, class: "limit"}, svg);
	};

	// The heat map: a cell for each pair, documents in the order of their clusters. It is a canvas: 400 documents are 160,000
	// cells. The wheel or a pinch zooms; the arrow keys walk from cell to cell, Enter opens the pair.
	const order = data.order, place = new Map(order.map((d, i) => [d, i]));
	const cells = new Map();
	for (const p of pairs) {
		cells.set(place.get(p.a) * order.length + place.get(p.b), [p, p.ab]);
		cells.set(place.get(p.b) * order.length + place.get(p.a), [p, p.ba]);
	}
	const canvas = box.querySelector("canvas"), beside = {rows: box.querySelector(".heat .rows"), columns: box.querySelector(".heat .columns")};
	// The names of a small batch stand next to the map and move with it; the table of the page has them for screen readers.
	const names = beside.rows ? Object.values(beside).map((e) => order.map((d) => make("span", {class: "name"}, e, label(d)))) : [];
	canvas.parentElement.style.setProperty("--documents", order.length);
	if (beside.rows) { // in the bold of a name that is pointed at, the widest that it gets
		const c = canvas.getContext("2d");
		c.font = "650 11px " + getComputedStyle(beside.rows).fontFamily;
		canvas.parentElement.style.setProperty("--names", 2 + Math.ceil(Math.max(...order.map((d) => c.measureText(label(d)).width))) + "px");
	}
	let view = {x: 0, y: 0, k: 1}, cursor = null; // a transform of D3 once it is there
	const heatMap = () => {
		const size = canvas.clientWidth, ratio = devicePixelRatio || 1, n = order.length, colours = heat();
		if (!size) return;
		if (canvas.width !== Math.round(size * ratio)) canvas.width = canvas.height = Math.round(size * ratio);
		const c = canvas.getContext("2d"), cell = size / n;
		const colour = (share) => colours[1 + Math.min(Math.floor(share / 0.6 * 5), 4)]; // of 60 % and more: the last
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = colours[0];
		c.fillRect(0, 0, size, size);
		c.translate(view.x, view.y);
		c.scale(view.k, view.k);
		for (const [at, [p, share]] of cells) {
			if (!share) continue;
			c.globalAlpha = p.share >= threshold() ? 1 : 0.5;
			c.fillStyle = colour(share);
			c.fillRect(at % n * cell, Math.floor(at / n) * cell, Math.max(cell, 0.5), Math.max(cell, 0.5));
		}
		names.forEach((side, k) => side.forEach((e, i) => {
			const at = (k ? view.x : view.y) + view.k * (i + 0.5) * cell;
			e.hidden = at < 0 || at > size;
			e.style[k ? "left" : "top"] = at + "px";
		}));
		c.globalAlpha = 1;
		c.strokeStyle = css("--soft");
		c.lineWidth = 1 / view.k;
		let from = 0; // frames around the clusters
		for (let i = 1; i <= n; i++) {
			if (i < n && docs[order[i]].cluster === docs[order[from]].cluster) continue;
			if (docs[order[from]].cluster && i - from > 1) c.strokeRect(from * cell, from * cell, (i - from) * cell, (i - from) * cell);
			from = i;
		}
		if (cursor) {
			c.strokeStyle = css("--ink");
			c.lineWidth = 2 / view.k;
			c.strokeRect(cursor[0] * cell, cursor[1] * cell, cell, cell);
		}
	};
	const cellAt = (event) => {
		const r = canvas.getBoundingClientRect(), x = (event.clientX - r.left - view.x) / view.k, y = (event.clientY - r.top - view.y) / view.k;
		const i = Math.floor(x / r.width * order.length), j = Math.floor(y / r.width * order.length);
		return i >= 0 && j >= 0 && i < order.length && j < order.length ? [i, j] : null;
	};
	const sayCell = ([i, j]) => {
		if (i === j) return label(order[i]);
		const cell = cells.get(j * order.length + i);
		return words.cell.replace("%1", percent(cell ? cell[1] : 0)).replace("%2", label(order[j])).replace("%3", label(order[i]));
	};
	const open = (at) => {
		const cell = at && cells.get(at[1] * order.length + at[0]);
		if (cell) location.assign(pairPath(cell[0]));
	};
	const closer = () => library().then(() => {
		const width = canvas.clientWidth || 640;
		d3.select(canvas).call(d3.zoom().scaleExtent([1, Math.max(1, order.length / 8)]).translateExtent([[0, 0], [width, width]])
			.on("zoom", (event) => { view = event.transform; heatMap(); }));
	}, () => {}); // without it the map stays as it is
	canvas.addEventListener("pointerenter", closer, {once: true});
	const stress = (at) => names.forEach((side, k) => side.forEach((e, i) => e.classList.toggle("on", !!at && i === at[1 - k])));
	canvas.addEventListener("mousemove", (event) => {
		const at = cellAt(event);
		tell(event, at ? sayCell(at) : "");
		stress(at);
	});
	canvas.addEventListener("mouseleave", () => { tell(null, ""); stress(cursor); });
	canvas.addEventListener("click", (event) => open(cellAt(event)));
	canvas.addEventListener("keydown", (event) => {
		const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
		if (event.key === "Enter") open(cursor);
		if (!step) return;
		event.preventDefault();
		cursor = cursor ? [0, 1].map((k) => Math.max(0, Math.min(order.length - 1, cursor[k] + step[k]))) : [0, 0];
		box.querySelector("[data-told]").textContent = sayCell(cursor);
		stress(cursor);
		heatMap();
	});

	const short = (i) => docs[i].title.length > 34 ? docs[i].title.slice(0, 34) + "…" : docs[i].title;
	// setLabels puts each label at the first of the places beside its dot where it stands on no dot and on no other label; one that
	// finds none is left out, and its dot says the name when it is pointed at.
	const setLabels = (labels, dots, width, height, places) => {
		const taken = dots.map((dot) => [dot.x - 6, dot.y - 6, dot.x + 6, dot.y + 6]);
		const lengths = labels.map((l) => l.e.getComputedTextLength());
		labels.forEach((l, k) => {
			for (const [dx, dy, anchor] of places) {
				const left = l.x + dx - lengths[k] * {start: 0, middle: 0.5, end: 1}[anchor], top = l.y + dy - 10;
				const at = [left, top, left + lengths[k], top + 13];
				if (left < 0 || top < 0 || at[2] > width || at[3] > height) continue;
				if (taken.some((t) => at[0] < t[2] && t[0] < at[2] && at[1] < t[3] && t[1] < at[3])) continue;
				taken.push(at);
				l.e.setAttribute("x", l.moved ? dx : l.x + dx);
				l.e.setAttribute("y", l.moved ? dy : l.y + dy);
				l.e.setAttribute("text-anchor", anchor);
				return;
			}
			l.e.remove();
		});
	};

	// The graph: who shares with whom, of pairs over the threshold, the strongest 400; of one cluster or all.
	const which = box.querySelector("[data-cluster]");
	let simulation = null;
	const graph = (svg) => {
		simulation?.stop();
		const width = Math.max(320, svg.clientWidth), height = Math.round(width < 600 ? width : 520), chosen = Number(which.value);
		const links = above().filter((p) => !chosen || docs[p.a].cluster === chosen && docs[p.b].cluster === chosen)
			.sort((x, y) => y.share - x.share).slice(0, 400).map((p) => ({...p, source: p.a, target: p.b, pair: p}));
		const used = [...new Set(links.flatMap((l) => [l.a, l.b]))], nodes = used.map((i) => ({id: i}));
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		svg.replaceChildren();
		box.querySelector("[data-none]").hidden = links.length > 0;
		const lines = links.map((l) => {
			const line = make("line", {class: "link" + (l.counts ? "" : " aside"), "stroke-width": 1 + 7 * l.share}, svg);
			line.addEventListener("mousemove", (event) => tell(event, words.both.replace("%1", percent(l.share)).replace("%2", label(l.a)).replace("%3", label(l.b))));
			line.addEventListener("mouseleave", () => tell(null, ""));
			line.addEventListener("click", () => location.assign(pairPath(l.pair)));
			return line;
		});
		const dots = nodes.map((node) => {
			const g = make("g", {class: "node"}, svg);
			make("circle", {r: nodes.length > 60 ? 5 : 7, class: clusterClass(docs[node.id].cluster)}, g);
			if (nodes.length <= 30) node.label = make("text", {class: "name"}, g, short(node.id));
			g.addEventListener("mousemove", (event) => tell(event, label(node.id)));
			g.addEventListener("mouseenter", () => lines.forEach((line, i) => line.classList.toggle("dim", links[i].a !== node.id && links[i].b !== node.id)));
			g.addEventListener("mouseleave", () => { tell(null, ""); lines.forEach((line) => line.classList.remove("dim")); });
			if (docs[node.id].path) g.addEventListener("click", () => location.assign(docs[node.id].path));
			return g;
		});
		const spread = Math.max(0.3, Math.min(1, 40 / nodes.length)); // many documents stand closer
		simulation = d3.forceSimulation(nodes).force("link", d3.forceLink(links).id((d) => d.id).distance((l) => (140 - 90 * l.share) * spread).strength(0.6))
			.force("charge", d3.forceManyBody().strength(-160 * spread)).force("x", d3.forceX(width / 2).strength(0.05))
			.force("y", d3.forceY(height / 2).strength(0.08)).force("collide", d3.forceCollide(nodes.length > 60 ? 9 : 14)).stop();
		simulation.tick(nodes.length > 60 ? 80 : 160); // at once: nothing moves on the page
		const fit = (axis, from, to) => {
			const [low, high] = d3.extent(nodes, (node) => node[axis]);
			if (low >= from && high <= to) return;
			for (const node of nodes) node[axis] = from + (node[axis] - low) / (high - low || 1) * (to - from);
		};
		fit("x", 12, width - (nodes.length > 30 ? 12 : 60));
		fit("y", 12, height - 12);
		links.forEach((l, i) => {
			for (const [name, value] of [["x1", l.source.x], ["y1", l.source.y], ["x2", l.target.x], ["y2", l.target.y]]) lines[i].setAttribute(name, value);
		});
		nodes.forEach((node, i) => dots[i].setAttribute("transform", `translate(${node.x},${node.y})`));
		setLabels(nodes.filter((node) => node.label).map((node) => ({x: node.x, y: node.y, e: node.label, moved: true})), nodes, width, height,
			[[10, 4, "start"], [-10, 4, "end"], [0, -11, "middle"], [0, 19, "middle"], [8, -8, "start"], [8, 16, "start"], [-8, -8, "end"], [-8, 16, "end"]]);
	};

	// The timeline: documents with a date, and arrows from the earlier to the later of pairs over the threshold. An arrow says
	// which was there first, not that anyone copied; of one date, or of a day and its year, neither is the earlier, and a line
	// without an arrow joins them, unless both have a time of day and one is the earlier by it. Times are shown in the reader's own
	// zone, as are days. Documents of one date or time are stacked: none stands over another.
	const dayOf = (date) => {
		const [year, month, day] = date.split("-").map(Number);
		return new Date(year, (month || 7) - 1, day || (month ? 15 : 1));
	};
	const dated = docs.map((d, i) => ({i, date: d.date || "", time: d.time || "", at: d.time ? new Date(d.time) : d.date ? dayOf(d.date) : null})).filter((d) => d.at && !Number.isNaN(+d.at));
	const together = (u, v) => { // whether neither is certainly the earlier; u is not the later of the two
		if (!u.time || !v.time) return u.date.startsWith(v.date) || v.date.startsWith(u.date);
		return v.at - u.at < (/T..:..:/.test(u.time) ? 1000 : 60000);
	};
	const clock = (at) => [at.getHours(), at.getMinutes()].map((n) => String(n).padStart(2, "0")).join(":");
	const timeline = (svg) => {
		const width = Math.max(320, svg.clientWidth), [first, last] = d3.extent(dated, (d) => d.at);
		const x = d3.scaleTime([first, last], +first === +last ? [width / 2, width / 2] : [30, width - 30]);
		const spots = new Map(), rows = [], days = new Map();
		for (const d of dated) days.set(d.time ? +d.at : d.date, [...days.get(d.time ? +d.at : d.date) || [], d]);
		const named = dated.length <= 30, gap = 14, high = named ? 30 : 15; // a day with more documents than that is several columns wide
		const placed = [...days.values()].flatMap((day) => {
			const columns = Math.min(Math.ceil(day.length / high), Math.floor((width - 24) / gap)), half = (columns - 1) / 2 * gap;
			const middle = Math.max(12 + half, Math.min(width - 12 - half, x(day[0].at)));
			return day.sort((a, b) => docs[a.i].cluster - docs[b.i].cluster || a.i - b.i).map((d, k) => ({...d, x: middle - half + k % columns * gap}));
		}).sort((a, b) => a.x - b.x);
		for (const d of placed) { // each in the lowest row that is free
			let row = rows.findIndex((end) => d.x - end >= gap - 0.01);
			if (row < 0) row = rows.length;
			rows[row] = d.x;
			spots.set(d.i, {...d, row});
		}
		const joined = above().filter((p) => spots.has(p.a) && spots.has(p.b)).sort((u, v) => v.share - u.share).slice(0, 200);
		const beside = (u, v) => Math.abs(u.x - v.x) < gap;
		const aloft = joined.some((p) => !beside(spots.get(p.a), spots.get(p.b))); // arcs need room
		const height = (aloft ? 220 : 80) + rows.length * gap, line = height - 40;
		for (const spot of spots.values()) spot.y = line - 12 - spot.row * gap;
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		svg.replaceChildren();
		const head = make("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto"}, make("defs", {}, svg));
		make("path", {d: "M0 0 8 4 0 8z", class: "arrow"}, head);
		make("line", {x1: 20, x2: width - 20, y1: line, y2: line, class: "axis"}, svg);
		const day = (at) => [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
		let written = "";
		const hours = last - first < 3 * 86400e3 && dated.some((d) => d.time); // times of day are worth the room
		for (const tick of x.ticks(Math.floor(width / (hours ? 150 : 110)))) { // of a few days there are ticks within a day
			const says = [day(tick) !== written && day(tick), hours && clock(tick)].filter(Boolean).join(" ");
			const half = 3.5 * says.length; // about: a label at the edge is not cut off
			if (says) make("text", {x: Math.max(half, Math.min(width - half, x(tick))), y: height - 12, "text-anchor": "middle"}, svg, says);
			written = day(tick);
		}
		const thick = joined.length > 60 ? 1.5 : 4;
		for (const p of joined) {
			const [u, v] = [spots.get(p.a), spots.get(p.b)].sort((a, b) => a.at - b.at), same = together(u, v);
			const top = Math.min(u.y, v.y), side = Math.min(u.x, v.x) - 14 - Math.min(0.4 * Math.abs(u.y - v.y), width / 3);
			const by = beside(u, v) ? `${Math.max(2, side)} ${(u.y + v.y) / 2}` : `${(u.x + v.x) / 2} ${top - 20 - 1.8 * (top - 20) * Math.abs(v.x - u.x) / width}`;
			const arc = make("path", {d: `M${u.x} ${u.y}Q${by} ${v.x} ${v.y - (same ? 0 : 6)}`, class: "arc" + (p.counts ? "" : " aside"),
				"stroke-width": 0.75 + thick * p.share, ...(same ? {} : {"marker-end": "url(#arrow)"})}, svg);
			const said = same ? words.both : words.later;
			arc.addEventListener("mousemove", (event) => tell(event, said.replace("%1", percent(p.share)).replace("%2", label(u.i)).replace("%3", label(v.i))));
			arc.addEventListener("mouseleave", () => tell(null, ""));
			arc.addEventListener("click", () => location.assign(pairPath(p)));
		}
		const labels = [];
		for (const d of spots.values()) {
			const dot = make("circle", {cx: d.x, cy: d.y, r: 5, class: "node " + clusterClass(docs[d.i].cluster)}, svg);
			dot.addEventListener("mousemove", (event) => tell(event, (d.time ? day(d.at) + " " + clock(d.at) : d.date) + " · " + label(d.i)));
			dot.addEventListener("mouseleave", () => tell(null, ""));
			if (docs[d.i].path) dot.addEventListener("click", () => location.assign(docs[d.i].path));
			if (named) labels.push({x: d.x, y: d.y, e: make("text", {class: "name"}, svg, short(d.i))});
		}
		setLabels(labels, [...spots.values()], width, height - 24, [[9, 4, "start"], [-9, 4, "end"]]);
		for (const [name, holds] of [["none", joined.length === 0], ["day", days.size === 1]]) {
			box.querySelector(`[data-panel=time] [data-says=${name}]`).hidden = !holds;
		}
	};

	// One of the pictures is shown at a time; the histogram always.
	const tabs = [...box.querySelectorAll("[data-tab]")];
	const panels = new Map([...box.querySelectorAll("[data-panel]")].map((p) => [p.dataset.panel, p]));
	const later = (name, draw) => () => {
		box.setAttribute("aria-busy", "true");
		library().then(() => { if (shown === name) draw(panels.get(name).querySelector("svg")); }, () => { if (shown === name) show("heat"); })
			.finally(() => box.removeAttribute("aria-busy"));
	};
	const undated = box.querySelector("[data-undated]"), few = dated.length < 2;
	undated.textContent = words.undated.replace("%1", docs.length - dated.length);
	undated.hidden = few || dated.length === docs.length;
	box.querySelector("[data-says=few]").hidden = !few;
	box.querySelector("[data-panel=time] svg").toggleAttribute("hidden", few);
	const drawings = {heat: heatMap, graph: later("graph", graph), time: few ? () => {} : later("time", timeline)};
	let shown = "heat";
	const show = (name) => {
		shown = name;
		for (const t of tabs) t.setAttribute("aria-pressed", String(t.dataset.tab === name));
		for (const [which, p] of panels) p.hidden = which !== name;
		drawings[name]();
	};
	for (const t of tabs) t.addEventListener("click", () => show(t.dataset.tab));
	for (const n of [...new Set(docs.map((d) => d.cluster))].filter(Boolean).sort((a, b) => a - b)) {
		const o = document.createElement("option");
		o.value = n;
		o.textContent = words.one.replace("%1", n);
		which.append(o);
	}
	which.addEventListener("change", () => drawings.graph());
	const redraw = () => {
		said.textContent = words.over.replace("%1", inPercent(slider.value)).replace("%2", above().length);
		histogram(box.querySelector("[data-histogram]"));
		drawings[shown]();
	};
	slider.addEventListener("input", redraw);
	// The list of pairs follows once the slider rests.
	slider.addEventListener("change", () => {
		const field = document.querySelector("#pairs-min");
		if (!field) return;
		field.value = slider.value;
		field.form.requestSubmit();
	});
	addEventListener("resize", redraw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	box.removeAttribute("aria-busy");
	show("heat");
	redraw();
};

fetch(words.charts).then((answer) => answer.ok ? answer.json() : null).catch(() => null).then((data) => {
	if (data && data.documents.length > 1) draw(data);
	else box.hidden = true;
});

// Filters of the list of pairs are applied in place.
document.addEventListener("submit", async (event) => {
	const form = event.target;
	if (form.id !== "pairs-filter" || form.elements.hide.checked !== form.elements.hide.defaultChecked) return; // names are everywhere
	event.preventDefault();
	const q = new URLSearchParams(new FormData(form)), at = location.pathname + "?" + q;
	const answer = await fetch(at);
	if (!answer.ok) return;
	const page = new DOMParser().parseFromString(await answer.text(), "text/html"), next = page.getElementById("pairs-list");
	document.getElementById("pairs-list").replaceWith(document.adoptNode(next));
	words.kept = q;
	dispatchEvent(new Event("replaced"));
	history.replaceState(null, "", at + "#pairs");
});
