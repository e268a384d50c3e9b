// Package landing finds the text of a work from the page that a repository shows to people. It uses typed links (Signposting: in Link
// headers, in the page, and in link sets of RFC 9264) and citation_pdf_url, which is intended for search engines. Start from Page. It is
// pure and fetches nothing.
package landing
