package golden_test

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// ownPages is the entry about texts and looks of the pages, which are not
// compared.
const ownPages = "The pages have texts and a look of their own"

// page reads an HTML body as a browser does, and returns what a client may rely
// on: what the forms post and where, the links, whether an error is shown, and the
// class of the colour scheme.
func page(body string) (map[string]any, error) {
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var p pageReader
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return comparedPage(map[string]any{"forms": p.forms, "links": p.links, "bodyClass": p.bodyClass}, p.failed), nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			p.open(strings.ToLower(t.Name.Local), attributes(t))
		case xml.EndElement:
			if strings.EqualFold(t.Name.Local, "form") {
				p.form = nil
			}
		}
	}
}

type pageReader struct {
	bodyClass    string
	signIn       bool
	failed       bool
	forms, links []any
	form         map[string]any // the open form
}

func attributes(e xml.StartElement) map[string]any {
	m := map[string]any{}
	for _, a := range e.Attr {
		name := strings.ToLower(a.Name.Local)
		m[name] = a.Value
		if a.Value == name { // the reader writes an attribute without a value like this
			m[name] = ""
		}
	}
	return m
}

// pick returns only the named attributes.
func pick(a map[string]any, names ...string) map[string]any {
	kept := map[string]any{}
	for _, n := range names {
		if v, ok := a[n]; ok {
			kept[n] = v
		}
	}
	return kept
}

func (p *pageReader) open(name string, a map[string]any) {
	_, hidden := a["hidden"]
	p.signIn = p.signIn || a["class"] == "signin" // on the error page the class error is for the whole page
	p.failed = p.failed || a["role"] == "alert" && !hidden || a["role"] == nil && a["class"] == "error" && p.signIn
	switch name {
	case "form":
		p.form = map[string]any{"action": a["action"], "method": a["method"], "inputs": []any{}}
		p.forms = append(p.forms, p.form)
	case "input":
		if p.form != nil {
			p.form["inputs"] = append(items(p.form["inputs"]), a)
		}
	case "button":
		if to := text(a, "formaction"); to != "" && p.form != nil { // another form with the same inputs
			p.forms = append(p.forms, map[string]any{"action": to, "method": p.form["method"], "inputs": p.form["inputs"]})
		}
	case "body":
		p.bodyClass = text(a, "class")
	case "a":
		p.links = append(p.links, a)
	}
}

// comparedPage returns what is compared of a page.
func comparedPage(p map[string]any, failed bool) map[string]any {
	forms := []any{}
	for _, f := range items(p["forms"]) {
		form, fields := object(f), map[string]any{}
		for _, i := range items(form["inputs"]) {
			input := object(i)
			if fields[text(input, "name")] = "typed"; input["type"] == "hidden" {
				fields[text(input, "name")] = text(input, "value")
			}
		}
		action := text(form, "action")
		forms = append(forms, map[string]any{"action": action, "method": strings.ToUpper(text(form, "method")), "fields": fields})
	}
	slices.SortFunc(forms, func(a, b any) int { return cmp.Compare(text(object(a), "action"), text(object(b), "action")) })
	links := mapped(items(p["links"]), func(l any) any { return object(l)["href"] })
	return map[string]any{"forms": forms, "links": links, "failed": failed, "bodyClass": p["bodyClass"]}
}
