package webauthn

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/gatehouse-go/gatehouse/auth"
)

// maxOriginLabels is how many labels browsers must read from the list of related
// origins, and more than that Chromium does not (WebAuthn Level 3, section
// 5.11). A label is the name that somebody registered, without the public suffix
// behind it: example of https://app.example.co.uk.
const maxOriginLabels = 5

// checkOrigins reports a relying party that has more origins than browsers read.
func checkOrigins(list []auth.RelyingParty) error {
	labels := map[string]map[string]bool{}
	for _, rp := range list {
		if labels[rp.ID] == nil {
			labels[rp.ID] = map[string]bool{}
		}
		for _, origin := range rp.Origins {
			labels[rp.ID][originLabel(origin)] = true
		}
		if n := len(labels[rp.ID]); n > maxOriginLabels {
			return fmt.Errorf("the relying party %q has origins with %d different names, such as example in https://app.example.com; browsers accept the first %d and pass over the others",
				rp.ID, n, maxOriginLabels)
		}
	}
	return nil
}

// originLabel is the registered name in an origin, or its host if it has none.
func originLabel(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin // which New refuses for itself
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname())
	if err != nil {
		return u.Hostname()
	}
	label, _, _ := strings.Cut(domain, ".")
	return label
}
