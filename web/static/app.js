// Pages work without this: it shows progress as it happens and lets files be dropped.
"use strict";

// A check in progress: words and bar follow its events; at the end the page is read again.
for (const section of document.querySelectorAll("[data-events]")) {
	const words = section.querySelector("[data-words]");
	const bar = section.querySelector("progress");
	const events = new EventSource(section.dataset.events);
	events.onmessage = (event) => {
		const p = JSON.parse(event.data);
		if (p.finally) {
			events.close();
			location.reload();
			return;
		}
		if (words.textContent !== p.words) words.textContent = p.words;
		if (p.total > 0) {
			bar.max = p.total;
			bar.value = p.done;
		} else {
			bar.removeAttribute("value");
		}
	};
}

// A list with checks in progress is read again from time to time, while somebody looks at it.
if (document.querySelector("[data-refresh]")) {
	setInterval(async () => {
		if (document.hidden) return;
		const answer = await fetch(location.href);
		if (!answer.ok) return;
		const page = new DOMParser().parseFromString(await answer.text(), "text/html");
		const next = page.querySelector("main table"), here = document.querySelector("main table");
		if (!next || !here || here.contains(document.activeElement)) return;
		here.replaceWith(document.adoptNode(next));
	}, 3000);
}

// Files dropped on the form are chosen as if by its button.
for (const drop of document.querySelectorAll("[data-drop]")) {
	const input = drop.querySelector("input[type=file]");
	const over = (on) => (event) => {
		event.preventDefault();
		drop.classList.toggle("over", on);
	};
	drop.addEventListener("dragover", over(true));
	drop.addEventListener("dragleave", over(false));
	drop.addEventListener("drop", (event) => {
		over(false)(event);
		if (event.dataTransfer.files.length > 0) input.files = event.dataTransfer.files;
	});
}
