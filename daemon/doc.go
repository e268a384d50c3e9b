// Package daemon serves a site: pages and API for people and programs, the queue of checks, batches, deliveries, what
// one node does for all, metrics, and the socket by which commands of the same site reach the process. What the parts
// do is in packages site, web and partners; opening a site's folder is in package instance. Open daemon.go first.
//
// Start from [Run], which serves until its context ends. [New] makes a [Daemon] without listeners; [Daemon.Control] and
// [Daemon.OpenWebApp] are its parts. The site is an *instance.Instance that the caller has opened with instance.Serve;
// partners are answered by package partners, requests by package web.
package daemon
