// Pages work without this: lists of checks show what happens, and forms are sent once. progress.js, upload.js,
// reading.js and lti.js are of single pages.
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

// A form is sent once: a second press while the answer is on its way does nothing. A page that comes back
// with the browser's own button can be sent again.
document.addEventListener("submit", (event) => {
	const form = event.target;
	if (event.defaultPrevented || form.method !== "post") return;
	if (form.dataset.sent) event.preventDefault();
	form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
	for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
