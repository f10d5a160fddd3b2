package client

import _ "embed"

// Passkey is the source of passkey.js, an ES module without imports that runs
// the ceremonies of WebAuthn in a browser.
//
//go:embed passkey.js
var Passkey string
