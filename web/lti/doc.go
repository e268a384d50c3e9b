// Package lti speaks LTI 1.3 with learning platforms: it checks what they send and asks their services. The pages that
// a launch opens are not here (package web). Open lti.go first, then verify.go.
//
// Start from [Client], whose Verify checks a message and whose other methods ask for tokens and files
// and send reports. [Keys] are the site's own. What is implemented: the security framework (1EdTech
// Security Framework 1.0, sections 4 and 5), launches, Deep Linking 2.0 as far as an asset processor
// needs it, the Platform Notification Service 1.0, the Asset Processor with its asset and report
// services 1.0, and Dynamic Registration 1.0. The package keeps nothing but tokens and keys of
// platforms, in memory; the caller makes state and nonce, and lets each be used once.
//
// Everything that a platform says about where its services are is checked against the hosts it was
// registered with, and an address in a private network is not asked unless that is allowed.
package lti
