package passwords

import (
	"cmp"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Colors are those of the button of a mail.
type Colors struct{ Brand, Text string }

// Write writes a mail to an address, about the site with a URL. It does not contain
// the address, so that nobody sends their own text to strangers with it. Link is
// empty for a mail that tells what was done, which is valid for no time.
func Write(t *texts.Texts, kind Kind, to, site, link string, valid time.Duration, c Colors) Mail {
	host := site
	if u, err := url.Parse(site); err == nil && u.Host != "" {
		host = u.Host
	}
	lines, button := sentences(t, kind)
	if link != "" {
		lines = append(lines[:2:2], append([]string{t.Span(t.Mail.LinkValid, valid)}, lines[2:]...)...)
	}
	plain := func(text string) string { return texts.Fill(text, map[string]string{"site": host}) }
	m := Mail{To: to, Kind: kind, URL: link, Subject: plain(lines[0])}
	var view struct {
		Lines              []string
		Link, Button, Lang string
		Direction          string
		Colors
	}
	view.Link, view.Button, view.Lang = link, button, t.Language
	view.Colors = Colors{Brand: cmp.Or(c.Brand, "#346df1"), Text: cmp.Or(c.Text, "#fff")}
	if view.Direction = "ltr"; t.RightToLeft() {
		view.Direction = "rtl"
	}
	for i, line := range lines[1:] {
		m.Text += plain(line) + "\n"
		if i == 0 && link != "" {
			m.Text += link + "\n\n"
		}
		// The zero-width space keeps mail programs from making a link of the name.
		shown := strings.ReplaceAll(host, ".", "\u200b.")
		view.Lines = append(view.Lines, texts.Fill(line, map[string]string{"site": shown}))
	}
	var html strings.Builder
	if err := mailTemplate.Execute(&html, view); err != nil {
		panic(err) // the template takes every text
	}
	m.HTML = html.String()
	return m
}

// sentences are the subject, the text and the last sentence of a mail, and its
// button.
func sentences(t *texts.Texts, kind Kind) (lines []string, button string) {
	link := func(m texts.MailedLink) ([]string, string) { return []string{m.Subject, m.Text, m.Ignore}, m.Button }
	switch kind {
	case SignUp:
		return link(t.Mail.SignUp)
	case SignUpKnown:
		return link(t.Mail.SignUpKnown)
	case Reset:
		return link(t.Mail.Reset)
	case Removed:
		return []string{t.Mail.PasswordRemoved.Subject, t.Mail.PasswordRemoved.Text, t.Mail.PasswordRemoved.NotYou}, ""
	}
	return []string{t.Mail.PasswordChanged.Subject, t.Mail.PasswordChanged.Text, t.Mail.PasswordChanged.NotYou}, ""
}

var mailTemplate = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html lang="{{.Lang}}" dir="{{.Direction}}"><body style="margin:0;padding:24px;background:#f9f9f9;color:#444;` +
	`font-family:Helvetica,Arial,sans-serif">
<table role="presentation" width="100%" style="max-width:600px;margin:auto;background:#fff;border-radius:10px">
{{range $i, $line := .Lines}}<tr><td align="center" style="padding:24px 16px 0;font-size:16px;line-height:22px">` +
	`{{$line}}</td></tr>
{{if and $.Link (eq $i 0)}}<tr><td align="center" style="padding:24px 16px 0"><a href="{{$.Link}}" ` +
	`style="display:inline-block;padding:12px 24px;border-radius:5px;font-size:18px;font-weight:bold;` +
	`text-decoration:none;background:{{$.Brand}};color:{{$.Text}}">{{$.Button}}</a></td></tr>
{{end}}{{end}}<tr><td style="padding:0 0 24px"></td></tr></table></body></html>
`))
