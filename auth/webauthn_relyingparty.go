package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// RelyingParty is the site, as authenticators see it (WebAuthn Level 3,
// sections 4 and 5.11).
type RelyingParty struct {
	// ID is a domain name. A credential works for one ID only. The ID may be a
	// parent domain of the site's domain, but never an IP address. The default is
	// the host of Config.URL.
	ID string
	// Name is shown by authenticators; the default is the host of the first
	// origin, with its port.
	Name string
	// Origins are the origins from which ceremonies are accepted, such as
	// https://app.example.com: the origin that the browser reports must be equal
	// to one of them. The scheme is https, or http on a loopback host. The default
	// is the origin of Config.URL. Origins outside the domain ID are related
	// origins. Browsers read them at https://ID/.well-known/webauthn; a Handler
	// that is mounted there serves the list. From the list, browsers use origins
	// with up to five different names; the name in https://app.example.com is
	// example. Package auth/webauthn refuses more names at the start. If
	// GetRelyingParty chooses a relying party with more, a warning is logged. An app
	// for Android that the site is connected with has the origin
	// android:apk-key-hash: followed by the SHA-256 of its certificate in base64url,
	// 43 characters; it is compared byte for byte and is in no list for browsers.
	Origins []string
}

// check returns an error if no ceremony of the relying party could succeed.
func (rp RelyingParty) check() error {
	if err := checkRelyingPartyID(rp.ID); err != nil {
		return err
	}
	if len(rp.Origins) == 0 {
		return fmt.Errorf("the relying party %q has no Origins", rp.ID)
	}
	single := !strings.Contains(rp.ID, ".") && rp.ID != "localhost"
	for _, o := range rp.Origins {
		if isAndroid(o) {
			continue
		}
		u, err := url.Parse(o)
		switch {
		case err != nil || u.Host == "" || wire.OriginOf(u) != o || u.User != nil:
			return fmt.Errorf("the origin %q of a relying party is not in the form of browsers: scheme, host in lower case, and a port unless it is the scheme's default", o)
		case u.Scheme != "https" && (u.Scheme != "http" || !wire.IsLoopback(o)):
			return fmt.Errorf("the origin %q of a relying party is neither https nor on a loopback host", o)
		case net.ParseIP(u.Hostname()) != nil:
			return fmt.Errorf("the origin %q of a relying party is an IP address; browsers allow passkeys for domain names only", o)
		case single && u.Hostname() != rp.ID:
			return fmt.Errorf("the relying party ID %q is a whole top-level domain", rp.ID)
		}
	}
	return nil
}

// isAndroid reports whether an origin is that of an app for Android.
// https://developer.android.com/identity/sign-in/credential-manager
func isAndroid(origin string) bool {
	hash, ok := strings.CutPrefix(origin, "android:apk-key-hash:")
	sum, err := base64.RawURLEncoding.Strict().DecodeString(hash)
	return ok && err == nil && len(sum) == sha256.Size
}

// webOrigins are the origins of pages.
func (rp RelyingParty) webOrigins() []string {
	return slices.DeleteFunc(slices.Clone(rp.Origins), isAndroid)
}

func checkRelyingPartyID(id string) error {
	switch {
	case id == "":
		return errors.New("the ID of a relying party is missing")
	case net.ParseIP(strings.Trim(id, "[]")) != nil:
		return fmt.Errorf("the relying party ID %q is an IP address; passkeys need a domain name, such as localhost", id)
	case len(id) > 253, strings.HasPrefix(id, "."), strings.HasSuffix(id, "."), strings.Contains(id, ".."), id != strings.ToLower(id):
		return fmt.Errorf("the relying party ID %q is not a domain name in lower case", id)
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return fmt.Errorf("the relying party ID %q is not a domain name: use ASCII, without scheme and port", id)
		}
	}
	return nil
}

// relyingParty returns the relying party for a ceremony of the request.
func (e *engine) relyingParty(ctx context.Context, r *request, p *WebAuthn) (RelyingParty, error) {
	rp, err := chooseRelyingParty(ctx, r, p, e.config.knowsItsHosts() || e.config.TrustHost == nil && wire.IsLoopback(r.origin))
	if err != nil {
		return rp, err
	}
	if err := rp.check(); err != nil {
		return rp, &Error{Type: ErrInvalidProvider, Message: "provider " + p.id(), Cause: err}
	}
	if rp.Name == "" {
		rp.Name = rp.ID
		if web := rp.webOrigins(); len(web) > 0 {
			_, rp.Name, _ = strings.Cut(web[0], "://")
		}
	}
	return rp, nil
}

func chooseRelyingParty(ctx context.Context, r *request, p *WebAuthn, mayUseHost bool) (RelyingParty, error) {
	if p.GetRelyingParty != nil {
		return guard(ctx, p.GetRelyingParty, r.withBody(ctx))
	}
	configured := p.RelyingParties
	if len(configured) > 1 {
		host := wire.HostOf(r.origin)
		for _, rp := range configured {
			if slices.ContainsFunc(rp.Origins, func(o string) bool { return wire.HostOf(o) == host }) {
				return rp, nil
			}
		}
		return RelyingParty{}, &Error{Type: ErrInvalidProvider, Message: "provider " + p.id() + ": no relying party has the host of the request among its Origins", client: true}
	}
	var rp RelyingParty
	if len(configured) == 1 {
		rp = configured[0]
	}
	if rp.ID != "" && len(rp.Origins) > 0 {
		return rp, nil
	}
	// Without Config.URL and Config.Origins, the Host header may fill in what is missing only if it
	// names a loopback host and Config.TrustHost is not set.
	if !mayUseHost {
		return rp, &Error{Type: ErrInvalidProvider, Message: "provider " + p.id() +
			": the Host header can't say which site asks: set Config.URL (AUTH_URL), or ID and Origins of RelyingParties"}
	}
	if rp.ID == "" {
		rp.ID = wire.HostOf(r.origin)
	}
	if len(rp.Origins) == 0 {
		rp.Origins = []string{r.origin}
	}
	return rp, nil
}

// warnOfRelyingParty logs a warning if GetRelyingParty chose a relying party
// that New would have refused in WebAuthn.RelyingParties. A ceremony may still
// work, with the origins that browsers read.
func warnOfRelyingParty(ctx context.Context, log *slog.Logger, p *WebAuthn, rp RelyingParty) {
	c, ok := p.Ceremonies.(interface{ Check(p *WebAuthn) error })
	if !ok || p.GetRelyingParty == nil {
		return
	}
	chosen := *p
	chosen.GetRelyingParty, chosen.RelyingParties = nil, []RelyingParty{rp}
	if err := c.Check(&chosen); err != nil {
		log.WarnContext(ctx, "auth: relying-party: the relying party that GetRelyingParty returned does not work in all browsers", slog.String("provider", p.id()), slog.Any("error", err))
	}
}

// wellKnownWebAuthn is where browsers ask for the related origins of a relying
// party (WebAuthn Level 3, section 5.11.1).
const wellKnownWebAuthn = "/.well-known/webauthn"

// relatedOrigins is the response at wellKnownWebAuthn: the origins of the
// relying party whose ID is the host of Config.URL or, without it, of the
// request. The status is 404 if there is none.
func relatedOrigins(hr *http.Request, origin string, providers []Provider) *Result {
	host := wire.HostOf(wire.RequestOrigin(hr))
	if origin != "" {
		host = wire.HostOf(origin)
	}
	var list struct {
		Origins []string `json:"origins"`
	}
	for _, p := range providers {
		p, ok := p.(*WebAuthn)
		if !ok || p == nil {
			continue
		}
		for _, rp := range p.RelyingParties {
			if rp.ID != host {
				continue
			}
			for _, o := range rp.webOrigins() {
				if !slices.Contains(list.Origins, o) {
					list.Origins = append(list.Origins, o)
				}
			}
		}
	}
	if list.Origins == nil || hr.Method != http.MethodGet && hr.Method != http.MethodHead {
		return &Result{Status: http.StatusNotFound}
	}
	body, _ := wire.JSON(list) // texts always encode
	return &Result{Status: http.StatusOK, Header: jsonHeader(), Body: body}
}
