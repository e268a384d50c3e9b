// Package sitetest creates sites for the tests of site and the folders below it: one that checks (NewSite, NewBatch), one that shares
// with others (NewOwner), and a federation of sites in one process (NewMember, InProcess). It also provides a partner with scripted
// misbehaviour (NewPartner), indexes with scripted failures (Faulty, BrokenIndex), and the texts in them. Open site.go first.
package sitetest
