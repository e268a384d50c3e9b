// Package lti speaks LTI 1.3 with learning platforms: it checks what they send and asks their services. The pages that
// a launch opens are not here (package web). Open lti.go first, then verify.go.
//
// Start from [Client], whose Verify checks a message and whose other methods ask for tokens and files and send reports. [Keys]
// are the site's own. Implemented are the security framework (1EdTech Security Framework 1.0, sections 4 and 5), launches, Deep
// Linking 2.0 as far as an asset processor needs it, the Platform Notification Service 1.0, the Asset Processor with its asset
// and report services 1.0, and Dynamic Registration 1.0. The package keeps only tokens and keys of platforms, in memory; the
// caller creates state and nonce, and accepts each once.
//
// Every address that a platform gives for its services is checked against the hosts it was registered with, and a private
// address is not contacted unless that is allowed.
package lti
