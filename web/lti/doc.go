// Package lti implements LTI 1.3 for learning platforms: it checks their messages and calls their services. The pages that a launch opens
// are in package web. Open lti.go first, then verify.go.
//
// Start from [Client], whose Verify checks a message and whose other methods request tokens and files and send reports. [Keys] are the
// site's own. The package implements the security framework (1EdTech Security Framework 1.0, sections 4 and 5), launches, Deep Linking 2.0
// as far as an asset processor needs it, the Platform Notification Service 1.0, the Asset Processor with its asset and report services 1.0,
// and Dynamic Registration 1.0. The package keeps only tokens and keys of platforms, in memory; the caller creates states and nonces, and
// accepts each only once.
//
// Every address that a platform gives for its services is checked against the hosts with which the platform was registered, and a private
// address is not contacted unless that is allowed.
package lti
