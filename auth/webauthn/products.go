package webauthn

import (
	_ "embed"
	"encoding/hex"
	"strings"
	"sync"
)

//go:embed products.tsv
var products string

// productNames are the names of passkey providers by AAGUID (WebAuthn Level 3,
// section 6.5.1). Without attestation an AAGUID is only a claim of the client:
// the name is for display, and proves nothing.
var productNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for line := range strings.Lines(products) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && line[0] != '#' {
			names[id] = name
		}
	}
	return names
})

// aaguid writes an AAGUID in the form of a UUID.
func aaguid(b []byte) string {
	if len(b) != 16 {
		return ""
	}
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
