// Package daemon serves a site: pages and API for people and programs, the queue of checks, batches, deliveries, leader tasks,
// metrics, and the socket through which commands of the same site reach the process. The parts themselves are in packages site, web
// and partners; package instance opens a site's folder. Open daemon.go first.
//
// Start from [Run], which serves until its context ends. [New] makes a [Daemon] without listeners; [Daemon.Control] and [Daemon.OpenWebApp]
// provide its parts. The site is an *instance.Instance that the caller opened with instance.Serve; package partners answers partners,
// package web other requests.
package daemon
