"use strict";
(() => {
	const data = document.getElementById("data"), page = JSON.parse(data.textContent), pairs = page.pairs;
	const columns = data.dataset.columns, sample = data.dataset.sample;
	const $ = id => document.getElementById(id), state = $("state");
	const answers = [...document.querySelectorAll("button[data-label]")], words = answers.map(b => b.dataset.label);
	let labels = {}, at = 0, whole = false, database = null, stored = true;

	// What the browser keeps is how a page goes on where it was left; what counts is the file that is saved. Kept is each label by
	// itself, so that two windows on one sample add to each other. IndexedDB, because Chromium now and then gives a page that was
	// opened from a file an empty localStorage, and drops what is written there.
	const result = request => new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
	const load = async () => {
		const opening = indexedDB.open("concordat labels", 1);
		opening.onupgradeneeded = () => opening.result.createObjectStore("labels", {keyPath: ["sample", "pair"]});
		database = await result(opening);
		const kept = await result(database.transaction("labels").objectStore("labels").getAll(IDBKeyRange.bound([sample], [sample, []])));
		for (const k of kept) if (pairs[k.pair - 1] && words.includes(k.label)) labels[k.pair] = k.label;
	};
	const lost = () => { stored = false; show(); };
	const keep = found => {
		Object.assign(labels, found);
		if (!stored) return;
		try {
			const writing = database.transaction("labels", "readwrite");
			for (const [pair, label] of Object.entries(found)) writing.objectStore("labels").put({sample, pair: Number(pair), label});
			writing.onabort = lost;
			writing.commit?.(); // at once: the page may be left before an answer comes
		} catch { stored = false; }
	};

	const say = (text, bad) => { state.textContent = text; state.classList.toggle("bad", !!bad); };
	const labelled = () => pairs.filter(p => labels[p.pair]).length;
	const element = (name, text, kind) => { const e = document.createElement(name); e.textContent = text; if (kind) e.className = kind; return e; };

	const LONG = 400, SHOWN = 120;
	const fill = (side, text) => {
		$("title-" + side).textContent = text.title ? text.title + " (" + text.id + ")" : text.id;
		const box = $("text-" + side);
		box.replaceChildren();
		text.pieces.forEach((piece, i) => {
			if (i % 2 === 1) { box.append(element("mark", piece)); return; }
			const letters = whole ? [] : [...piece];
			if (letters.length <= LONG) { box.append(piece); return; }
			box.append(letters.slice(0, SHOWN).join(""),
				element("span", " … " + (letters.length - 2 * SHOWN) + " letters that both have … ", "left"), letters.slice(-SHOWN).join(""));
		});
		if (text.cut) box.append(element("p", "The text goes on.", "left"));
		box.scrollTop = 0;
	};

	const show = note => {
		const p = pairs[at];
		fill("a", p.a);
		fill("b", p.b);
		for (const b of answers) b.setAttribute("aria-pressed", String(labels[p.pair] === b.dataset.label));
		$("whole").setAttribute("aria-pressed", String(whole));
		$("done").value = labelled();
		say("Pair " + (at + 1) + " of " + pairs.length + ", " + labelled() + " labelled. " + (note || "") +
			(labelled() === pairs.length ? "All are labelled: save them." : "") +
			(stored ? "" : " This browser keeps nothing: save before you leave."));
	};
	const go = by => { at = Math.max(0, Math.min(pairs.length - 1, at + by)); show(); };
	const next = () => {
		for (let i = 1; i <= pairs.length; i++) {
			const to = (at + i) % pairs.length;
			if (!labels[pairs[to].pair]) { at = to; break; }
		}
		show();
	};
	const answer = word => { keep({[pairs[at].pair]: word}); next(); };
	const turn = () => { whole = !whole; show(); };

	const save = () => {
		const lines = [columns];
		for (const p of pairs) if (labels[p.pair]) lines.push([p.pair, p.a.id, p.b.id, labels[p.pair]].join("\t"));
		const link = document.createElement("a");
		link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], {type: "text/tab-separated-values"}));
		link.download = "labels.tsv";
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), 60000);
		show("Saved " + (lines.length - 1) + " labels. ");
	};

	// A file is taken whole or not at all; it adds to the labels of the page, and wins where both have one.
	const open = async input => {
		const file = input.files[0];
		if (!file) return;
		const lines = (await file.text()).split(/\r?\n/), found = {};
		input.value = "";
		if (lines.at(-1) === "") lines.pop();
		for (const [i, line] of lines.entries()) {
			if (i === 0) {
				if (line !== columns) return say(file.name + " line 1: want the columns " + columns.replaceAll("\t", ", "), true);
				continue;
			}
			const cells = line.split("\t"), p = pairs[cells[0] - 1];
			const fault = cells.length !== 4 ? cells.length + " columns, want 4" : !p ? "no pair " + cells[0] :
				p.a.id !== cells[1] || p.b.id !== cells[2] ? "the labels are from a different sample" :
				!words.includes(cells[3]) ? "label " + cells[3] + ": want same, different or unknown" :
				found[p.pair] ? "pair " + p.pair + " is labelled twice" : "";
			if (fault) return say(file.name + " line " + (i + 1) + ": " + fault, true);
			found[p.pair] = cells[3];
		}
		keep(found);
		at = pairs.length - 1;
		next();
	};

	const keys = {s: () => answer("same"), d: () => answer("different"), u: () => answer("unknown"),
		k: () => go(-1), j: () => go(1), ArrowLeft: () => go(-1), ArrowRight: () => go(1), x: turn, w: save};
	const start = () => {
		for (const b of answers) b.addEventListener("click", () => answer(b.dataset.label));
		$("back").addEventListener("click", () => go(-1));
		$("on").addEventListener("click", () => go(1));
		$("whole").addEventListener("click", turn);
		$("save").addEventListener("click", save);
		$("open").addEventListener("change", e => open(e.target));
		document.addEventListener("keydown", e => {
			if (e.ctrlKey || e.metaKey || e.altKey || e.repeat) return;
			const act = keys[e.key];
			if (act) { e.preventDefault(); act(); }
		});
		at = pairs.length - 1;
		next();
		if (labelled() === pairs.length) { at = 0; show(); }
	};
	load().catch(() => { stored = false; }).then(start);
})();
