// Package sitemap reads the lists of ResourceSync (ANSI/NISO Z39.99-2017): descriptions of sources, capability lists, resource lists and
// change lists, and their indexes. All of them are sitemaps. Start from Read. It is pure and fetches nothing.
package sitemap
