// A check in progress: words, bar and partners follow its events; at the end the page is read again. A
// connection that was lost, such as by a restart of the site, is made again.
"use strict";

for (const section of document.querySelectorAll("[data-events]")) {
	const words = section.querySelector("[data-words]");
	const bar = section.querySelector("progress");
	const partners = section.querySelector("[data-partners]");
	let wait = 1000;
	const show = (p) => {
		if (words.textContent !== p.words) words.textContent = p.words;
		bar.hidden = p.state === "queued";
		if (p.total > 0) {
			bar.max = p.total;
			bar.value = p.done;
		} else {
			bar.removeAttribute("value");
		}
		partners.replaceChildren(...(p.partners || []).map((one) => {
			const item = document.createElement("li"), name = document.createElement("strong"), state = document.createElement("span");
			name.textContent = one.name;
			state.textContent = one.words;
			state.className = "state " + one.state;
			item.append(name, " ", state);
			return item;
		}));
	};
	const follow = () => {
		const events = new EventSource(section.dataset.events);
		events.onmessage = (event) => {
			wait = 1000;
			const p = JSON.parse(event.data);
			if (p.finally) {
				events.close();
				location.reload();
				return;
			}
			show(p);
		};
		events.onerror = () => {
			events.close();
			words.textContent = section.dataset.lost;
			setTimeout(follow, wait);
			wait = Math.min(2 * wait, 15000);
		};
	};
	follow();
}
