// Package daemon serves a site: the pages and the API, the queue of checks, batches, deliveries, leader tasks, metrics, and the socket
// through which commands of the same site reach the process. The components are in packages site, web and partners; package instance
// opens a site's folder. Open daemon.go first.
//
// Start from [Run], which serves until its context ends. [New] returns a [Daemon] without listeners; [Daemon.Control] and
// [Daemon.OpenWebApp] provide its parts. The site is an *instance.Instance that the caller opened with instance.Serve; package partners
// answers partners, and package web answers other requests.
package daemon
