package auth

import (
	"net/http"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// mailedCode is what the mail of a provider with Email.Code says about the code.
type mailedCode struct{ Code, Use, Valid, Asked, Never, Ignore, LastLine string }

// codeIn returns what a mail says about its code, or nil if it has none. The last
// line lets a phone fill in the code on this host only (Origin-bound one-time
// codes, a draft of the WICG).
func codeIn(v VerificationRequest, host string) *mailedCode {
	if !v.Provider.Code || v.Code == "" {
		return nil
	}
	t := v.texts()
	return &mailedCode{
		Code: v.Code, Use: t.Mail.TypeCode, Valid: t.Span(t.Mail.BothValid, v.Provider.maxAge()), Asked: askedIn(v.Request, &t.Mail),
		Never: t.Mail.NeverAsk, Ignore: t.Mail.SignIn.Ignore, LastLine: "@" + host + " #" + v.Code,
	}
}

// text is the part of a plain mail that follows the link.
func (c *mailedCode) text() string {
	return c.Use + "\n" + c.Code + "\n\n" + c.Valid + " " + c.Asked + "\n" + c.Never + "\n" + c.Ignore + "\n\n" + c.LastLine
}

// A product is a browser or a system, and the texts of a User-Agent header that
// name it.
type product struct {
	name  string
	texts []string
}

// The first product counts whose text the header contains: the header of a newer
// browser contains the names of older ones.
var (
	browsers = []product{
		{"Edge", []string{"Edg/", "EdgA/", "EdgiOS/"}}, {"Opera", []string{"OPR/", "OPT/"}}, {"Samsung Internet", []string{"SamsungBrowser/"}},
		{"Firefox", []string{"Firefox/", "FxiOS/"}}, {"Chrome", []string{"Chrome/", "CriOS/"}}, {"Safari", []string{"Safari/"}},
	}
	systems = []product{
		{"iOS", []string{"iPhone", "iPad", "iPod"}}, {"Android", []string{"Android"}}, {"Windows", []string{"Windows"}},
		{"ChromeOS", []string{"CrOS"}}, {"macOS", []string{"Macintosh"}}, {"Linux", []string{"Linux"}},
	}
)

// askedIn names the browser and the system of a request. No text of the request
// gets into the mail.
func askedIn(r *http.Request, t *texts.Mail) string {
	header := ""
	if r != nil {
		header = r.UserAgent()
	}
	return texts.Fill(t.AskedIn, map[string]string{
		"browser": nameIn(header, browsers, t.UnknownBrowser), "system": nameIn(header, systems, t.UnknownSystem),
	})
}

// nameIn returns the name of the first product that a header names.
func nameIn(header string, products []product, unknown string) string {
	for _, p := range products {
		for _, text := range p.texts {
			if strings.Contains(header, text) {
				return p.name
			}
		}
	}
	return unknown
}
