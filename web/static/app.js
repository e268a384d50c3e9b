// Pages work without this: lists of checks show what happens, and forms are sent once. progress.js, upload.js,
// reading.js and lti.js are of single pages.
"use strict";

// On a narrow screen the rows of a table are cards, in which each cell says its column; it stays a table for screen readers.
const narrow = matchMedia("(max-width: 40rem)");
const stack = (page) => {
	if (!narrow.matches) return;
	for (const table of page.querySelectorAll(".scroll > table:not(.matrix)")) {
		const heads = Array.from(table.tHead?.rows[0]?.cells ?? [], (cell) => cell.textContent);
		table.classList.add("stacked");
		table.role = "table";
		for (const group of [table.tHead, ...table.tBodies]) if (group) group.role = "rowgroup";
		for (const row of table.rows) {
			row.role = "row";
			for (const [i, cell] of Array.from(row.cells).entries()) {
				cell.role = cell.tagName === "TD" ? "cell" : cell.scope === "row" ? "rowheader" : "columnheader";
				if (cell.tagName === "TD") cell.dataset.label = heads[i] ?? "";
			}
		}
	}
};
stack(document);
narrow.addEventListener("change", () => stack(document));
addEventListener("replaced", () => stack(document));

// Where the way through the site is a row that scrolls, the page one is on is in sight.
for (const here of document.querySelectorAll("body > header > nav [aria-current]")) {
	const row = here.closest("nav");
	row.scrollLeft = here.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}

// Parts of a page that tell of work in progress are read again from time to time, while someone looks at it: those with
// data-live, each by its id. A part that has the focus, or in which someone has chosen something, stays.
const live = async () => {
	const markup = await fetch(location.href).then((answer) => answer.ok ? answer.text() : "").catch(() => ""); // the next look may have one
	if (!markup) return;
	const page = new DOMParser().parseFromString(markup, "text/html");
	stack(page);
	for (const here of document.querySelectorAll("[data-live]")) {
		const next = page.getElementById(here.id);
		if (next && !here.contains(document.activeElement) && !here.querySelector("input:checked") && !here.isEqualNode(next)) {
			here.replaceWith(document.importNode(next, true)); // the page stays whole for who hears of it below
		}
	}
	// Parts that the page did not have before, such as the list of a library that was empty.
	const fresh = [...page.querySelectorAll("[data-live]")].some((one) => !document.getElementById(one.id));
	if (fresh && dispatchEvent(new Event("reloading", { cancelable: true }))) location.reload();
	else dispatchEvent(new CustomEvent("renewed", { detail: page }));
};
addEventListener("changed", live);
setInterval(() => {
	if (!document.hidden && document.querySelector("[data-refresh]")) live();
}, 2000);

// Menus close when someone clicks elsewhere, or presses Escape.
const closeMenus = (except) => {
	for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(except)) menu.open = false;
};
addEventListener("click", (event) => closeMenus(event.target));
addEventListener("keydown", (event) => {
	if (event.key !== "Escape") return;
	const menu = document.activeElement?.closest("details.menu[open]");
	closeMenus(null);
	menu?.querySelector("summary").focus();
});

// A zone whose files go with the form takes them where they are dropped, and says which were chosen.
for (const drop of document.querySelectorAll("form:not([data-upload]) [data-drop]")) {
	const fields = [...drop.querySelectorAll("input[type=file]")], chosen = drop.querySelector("[data-chosen]");
	drop.classList.add("easy");
	for (const field of fields) {
		field.addEventListener("change", () => {
			const names = fields.flatMap((one) => Array.from(one.files, (file) => file.name));
			chosen.textContent = names.length > 4 ? names.slice(0, 3).join(", ") + ", … (" + names.length + ")" : names.join(", ");
		});
	}
	// A folder is chosen whole, by a field of its own, where the browser can do that.
	const folder = drop.querySelector("[data-folder]");
	if (folder && "webkitdirectory" in fields[1]) {
		fields[1].webkitdirectory = true;
		folder.hidden = false;
		folder.querySelector("button").addEventListener("click", () => fields[1].click());
	}
	for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, () => drop.classList.add("over"));
	for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
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

// A text is copied by a button, where the browser allows that.
for (const button of document.querySelectorAll("[data-copy]")) {
	if (!navigator.clipboard) break;
	button.hidden = false;
	button.addEventListener("click", () => {
		navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
			.then(() => { button.textContent = button.dataset.copied; }, () => {}); // it can still be selected
	});
}
