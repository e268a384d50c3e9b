// Package landing finds the text of a work on the page that a repository shows people: by typed links (Signposting, in Link
// headers, in the page, and in link sets of RFC 9264), and by the citation_pdf_url that search engines read. Start from Page.
// It is pure: it fetches nothing.
package landing
