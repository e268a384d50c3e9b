// Files are handed in one by one, each with its progress: one that fails keeps no other back, and a lost
// connection costs one file at most, which is sent again under the same key. Without this script the form
// sends them all at once.
"use strict";

for (const form of document.querySelectorAll("form[data-upload]")) {
	const words = form.dataset;
	const box = form.querySelector("[data-sending-list]");
	const list = box.querySelector("ul");
	const again = box.querySelector("[data-again]");
	const open = box.querySelector("[data-open]");
	const drop = form.querySelector("[data-drop]");
	const inputs = [...form.querySelectorAll("input[type=file]")];
	const button = form.querySelector("button:not([type])");
	const tally = box.querySelector("[data-tally]");
	drop.classList.add("easy"); // the whole zone is the field: what is chosen stands in the list
	let items = [];
	let busy = false;
	let sent = 0; // files that were accepted and have left the list

	// A name for one sending; crypto.randomUUID is not there on plain HTTP.
	const key = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

	const make = (tag, text, of) => {
		const e = document.createElement(tag);
		if (text) e.textContent = text;
		if (of) of.append(e);
		return e;
	};
	const say = (item, state, text, link) => {
		item.state = state;
		item.words.replaceChildren(text);
		item.words.className = {accepted: "state done", rejected: "state failed", unsent: "state failed"}[state] || "hint";
		if (link) {
			item.words.append(" ");
			make("a", link.title, item.words).href = link.path;
		}
		item.bar.hidden = state !== "sending";
		item.remove.hidden = !["waiting", "unsent", "rejected"].includes(state) || busy;
		const count = (...states) => items.filter((one) => states.includes(one.state)).length;
		tally.textContent = tally.dataset.form.replace("%1", sent + count("accepted")).replace("%2", sent + items.length)
			.replace("%3", count("rejected", "unsent"));
		if (state === "rejected" || state === "unsent") list.prepend(item.row); // what asks for something comes first
	};
	const add = (file, text) => {
		const row = make("li", "", list);
		const item = {file, text, row, key: key(), name: file ? file.webkitRelativePath || file.name : text.get("title") || words.text};
		make("strong", item.name, row);
		row.append(" ");
		item.words = make("span", "", row);
		item.bar = make("progress", "", row);
		item.bar.setAttribute("aria-label", item.name);
		item.remove = make("button", words.remove, row);
		item.remove.type = "button";
		item.remove.className = "plain";
		item.remove.setAttribute("aria-label", words.remove + " " + item.name);
		item.remove.addEventListener("click", () => {
			items = items.filter((one) => one !== item);
			row.remove();
			box.hidden = items.length === 0;
		});
		items.push(item);
		box.hidden = false;
		say(item, "waiting", words.waiting);
		return item;
	};
	const addAll = (files) => {
		for (const file of files) {
			if (file.name && !file.name.startsWith(".") && items.length < Number(words.most)) add(file);
		}
	};

	// One request; resolves to what the site says, or to null where it cannot be reached.
	const send = (item, several) => new Promise((resolve) => {
		const data = item.text || new FormData();
		if (item.file) {
			for (const [name, value] of new FormData(form)) {
				if (!(value instanceof File) && name !== "text" && name !== "title") data.append(name, value);
			}
			for (const file of item.files || [item.file]) data.append("file", file, file.name);
			if (item.files) data.set("title", item.title);
			if (item.pasted) data.set("text", item.pasted);
		}
		if (several && words.batch) data.set("batch", words.batch);
		const request = new XMLHttpRequest();
		request.open("POST", form.action);
		request.setRequestHeader("Accept", "application/json");
		request.setRequestHeader("Idempotency-Key", item.key);
		request.responseType = "json";
		request.upload.onprogress = (event) => {
			if (!event.lengthComputable) return;
			item.bar.max = event.total;
			item.bar.value = event.loaded;
		};
		request.onload = () => resolve({status: request.status, body: request.response});
		request.onerror = request.onabort = request.ontimeout = () => resolve(null);
		request.send(data);
	});

	const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
	const one = async (item, several) => {
		for (let wait = 1000, tries = 0; tries < 6; tries++, wait = Math.min(2 * wait, 15000)) {
			say(item, "sending", tries ? words.lost : words.sending);
			const answer = await send(item, several);
			if (answer && answer.body && answer.status < 300) {
				const checks = answer.body.checks || [];
				say(item, "accepted", words.accepted, checks[0]);
				item.path = checks[0] && checks[0].path;
				return;
			}
			if (answer && answer.body && answer.body.rejected) {
				say(item, "rejected", words.rejected + ": " + answer.body.rejected[0].why);
				return;
			}
			if (answer && answer.body && answer.body.signin) {
				say(item, "unsent", words.ended, {title: words.signin, path: answer.body.signin});
				item.words.querySelector("a").target = "_blank"; // what stands in the form stays
				return;
			}
			if (answer && !(answer.body && answer.body.retry) && answer.status < 500) {
				say(item, "unsent", words.unsent + ": " + (answer.body && answer.body.problem || answer.status));
				return;
			}
			if (answer) item.last = answer.body && answer.body.problem || String(answer.status);
			if (answer && answer.status === 507) break; // the disk does not empty itself in seconds
			say(item, "sending", words.lost);
			await pause(wait);
		}
		say(item, "unsent", words.unsent + (item.last ? ": " + item.last : ""));
	};

	const run = async () => {
		busy = true;
		again.hidden = true;
		button.disabled = true;
		let todo = items.filter((item) => item.state === "waiting" || item.state === "unsent");
		const first = form.querySelector("[name=together]:checked") && todo.find((item) => item.file);
		if (first) { // one submission is one request
			const rest = todo.filter((item) => item !== first);
			first.title = form.querySelector("[name=title]").value;
			first.files = todo.flatMap((item) => item.files || (item.file ? [item.file] : []));
			first.pasted = todo.map((item) => item.pasted || (item.text ? item.text.get("text") : "")).filter(Boolean).join("\n\n");
			first.row.querySelector("strong").textContent = [...first.files.map((file) => file.name),
				...(first.pasted ? [words.text] : [])].join(", ");
			for (const item of rest) item.row.remove();
			items = items.filter((item) => !rest.includes(item));
			todo = [first];
		}
		for (const item of todo) item.remove.hidden = true;
		const several = items.length > 1;
		for (const item of todo) await one(item, several);
		busy = false;
		button.disabled = false;
		for (const item of items) item.remove.hidden = item.state === "accepted";
		if ("stay" in words) {
			dispatchEvent(new Event("changed")); // the page itself tells what becomes of them
			for (const item of items) if (item.state === "accepted") item.row.remove();
			const left = items.filter((item) => item.state !== "accepted");
			sent += items.length - left.length;
			items = left;
			box.hidden = items.length === 0;
			again.hidden = !items.some((item) => item.state === "unsent");
			return;
		}
		if (items.every((item) => item.state === "accepted")) {
			location.assign("single" in words && items.length === 1 && items[0].path || words.done);
			return;
		}
		again.hidden = !items.some((item) => item.state === "unsent");
		if (items.some((item) => item.state === "accepted")) {
			const link = open.querySelector("a");
			link.href = words.done;
			link.textContent = document.querySelector("nav a[href='" + words.done + "']")?.textContent || words.done;
			open.hidden = false;
		}
	};

	const collect = () => {
		for (const input of inputs) {
			addAll(input.files);
			input.value = ""; // they stand in the list, where each can be taken out
		}
	};
	const folder = form.querySelector("[data-folder]");
	folder.hidden = false;
	folder.querySelector("button").addEventListener("click", () => {
		const input = document.createElement("input");
		input.type = "file";
		input.multiple = input.webkitdirectory = true;
		input.addEventListener("change", () => addAll(input.files));
		input.click();
	});
	for (const input of inputs) input.addEventListener("change", collect);
	collect(); // what was chosen before this script ran
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		if (busy) return;
		collect(); // such as what the browser chose again on the way back
		const text = form.querySelector("[name=text]");
		if (text && text.value.trim()) {
			const data = new FormData(form);
			data.delete("file");
			add(null, data);
			text.value = "";
		}
		if (items.some((item) => item.state === "waiting" || item.state === "unsent")) {
			run();
			return;
		}
		inputs[0].setCustomValidity(words.nothing);
		inputs[0].reportValidity();
		inputs[0].setCustomValidity("");
	});
	again.querySelector("button").addEventListener("click", run);
	addEventListener("beforeunload", (event) => {
		if (busy) event.preventDefault();
	});

	// A page that reads itself again keeps the list of what was not taken; it waits until everything is sent. The files themselves
	// are lost with the page, so that they cannot be sent again from there.
	const kept = "refused " + form.action;
	addEventListener("reloading", (event) => {
		if (busy || items.some((item) => item.state === "waiting" || item.state === "unsent")) {
			event.preventDefault();
			return;
		}
		if (items.length) sessionStorage.setItem(kept, JSON.stringify([sent, items.map((item) => [item.name, item.words.textContent])]));
	});
	const [before, refused] = JSON.parse(sessionStorage.getItem(kept) || "[0, []]");
	sent = before;
	for (const [name, why] of refused) say(add({ name }), "rejected", why);
	sessionStorage.removeItem(kept);

	// Dropped files and folders, these with all that is in them.
	const walk = async (entry, out) => {
		if (entry.isFile) {
			out.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
			return;
		}
		const reader = entry.createReader();
		for (;;) { // a reader gives a hundred entries at a time
			const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
			if (some.length === 0) return;
			for (const one of some) await walk(one, out);
		}
	};
	const over = (on) => (event) => {
		event.preventDefault();
		drop.classList.toggle("over", on);
	};
	drop.addEventListener("dragover", over(true));
	drop.addEventListener("dragleave", over(false));
	drop.addEventListener("drop", async (event) => {
		over(false)(event);
		const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
		const files = [];
		if (entries.length > 0) for (const entry of entries) await walk(entry, files);
		addAll(files.length > 0 ? files : event.dataTransfer.files);
	});
}
