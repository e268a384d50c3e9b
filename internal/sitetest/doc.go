// Package sitetest makes sites for the tests of site and the folders below it: one that checks (NewSite, NewBatch), one that
// shares with others (NewOwner), a federation of sites in one process (NewMember, InProcess), a partner that misbehaves by
// script (NewPartner), indexes that fail by script (Faulty, BrokenIndex), and the texts that they contain. Start with
// site.go.
package sitetest
