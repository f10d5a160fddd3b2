package auth

import (
	"html/template"
	"net/url"
	"strings"
)

// EmailMessage writes the default mail: it names the site and has the link. It
// does not contain the address that it is sent to, so that nobody can use the
// form to send their own text to strangers.
func EmailMessage(v VerificationRequest) (Message, error) {
	u, err := url.Parse(v.URL)
	if err != nil {
		return Message{}, &Error{Type: ErrEmailSignIn, Message: "the link is not a URL"}
	}
	view := struct{ Host, URL, BrandColor, ButtonText string }{
		// The zero-width space keeps mail programs from making a link of the name.
		Host: strings.ReplaceAll(u.Host, ".", "\u200b."), URL: v.URL, BrandColor: v.Theme.BrandColor, ButtonText: v.Theme.ButtonText,
	}
	if view.BrandColor == "" {
		view.BrandColor = "#346df1"
	}
	if view.ButtonText == "" {
		view.ButtonText = "#fff"
	}
	var html strings.Builder
	if err := mailTemplate.Execute(&html, view); err != nil {
		return Message{}, err
	}
	return Message{Subject: "Sign in to " + u.Host, Text: "Sign in to " + u.Host + "\n" + v.URL + "\n\n", HTML: html.String()}, nil
}

var mailTemplate = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html lang="en"><body style="margin:0;padding:24px;background:#f9f9f9;font-family:Helvetica,Arial,sans-serif;color:#444">
<table role="presentation" width="100%" style="max-width:600px;margin:auto;background:#fff;border-radius:10px">
<tr><td align="center" style="padding:24px 16px 0;font-size:22px">Sign in to <strong>{{.Host}}</strong></td></tr>
<tr><td align="center" style="padding:24px 16px"><a href="{{.URL}}" style="display:inline-block;padding:12px 24px;border-radius:5px;font-size:18px;font-weight:bold;text-decoration:none;background:{{.BrandColor}};color:{{.ButtonText}}">Sign in</a></td></tr>
<tr><td align="center" style="padding:0 16px 24px;font-size:16px;line-height:22px">If you did not ask for this mail, you can ignore it.</td></tr>
</table></body></html>
`))
