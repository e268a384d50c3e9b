// Pages work without this: lists of checks show what happens. progress.js and upload.js are of single pages.
"use strict";

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
		// All has ended: what stands beside the table may say something else, too.
		if (!next.matches("[data-refresh]") && document.activeElement === document.body) location.reload();
	}, 3000);
}
