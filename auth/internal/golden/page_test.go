package golden_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// page reads an HTML body as a browser does, and returns it in the form of the
// recording: title, error text, forms with their inputs and buttons, links and
// images.
func page(body string) (map[string]any, error) {
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	p := pageReader{forms: []any{}, links: []any{}, images: []any{}, text: []any{}, headings: []any{}}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return p.summary(), nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			p.open(strings.ToLower(t.Name.Local), attributes(t))
		case xml.EndElement:
			p.close(strings.ToLower(t.Name.Local))
		case xml.CharData:
			p.add(string(t))
		}
	}
}

type pageReader struct {
	title, errorText, bodyClass string
	forms, links, images        []any
	text, headings              []any
	form                        map[string]any // the open form
	element                     map[string]any // the open link or button, whose text is collected
	elementName                 string
	inTitle, inError            bool
	inHeading, inLabel          bool
	hidden                      int // nesting depth inside style and script
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

func (p *pageReader) open(name string, a map[string]any) {
	class, _ := a["class"].(string)
	switch name {
	case "title":
		p.inTitle = true
	case "style", "script":
		p.hidden++
	case "form":
		method, _ := a["method"].(string)
		p.form = map[string]any{"action": a["action"], "method": strings.ToUpper(method), "labels": []any{}, "inputs": []any{}, "buttons": []any{}}
		p.forms = append(p.forms, p.form)
	case "input":
		if p.form != nil {
			p.form["inputs"] = append(p.form["inputs"].([]any), a)
		}
	case "body":
		p.bodyClass = class
	case "h1", "h2":
		p.inHeading = true
	case "label":
		p.inLabel = true
	case "button":
		p.element, p.elementName = pick(a, "id", "type"), name
		p.element["text"] = ""
		if p.form != nil {
			p.form["buttons"] = append(p.form["buttons"].([]any), p.element)
		}
	case "a":
		p.element, p.elementName = pick(a, "class", "href"), name
		p.links = append(p.links, p.element)
		p.element["text"] = ""
	case "img":
		p.images = append(p.images, pick(a, "src", "alt"))
	}
	if class == "error" && p.title == "Sign In" { // on the error page this class covers the whole page
		p.inError = true
	}
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

func (p *pageReader) close(name string) {
	switch name {
	case "title":
		p.inTitle = false
	case "style", "script":
		p.hidden--
	case "h1", "h2":
		p.inHeading = false
	case "label":
		p.inLabel = false
	case "form":
		p.form = nil
	case p.elementName:
		p.element, p.elementName = nil, ""
	case "p":
		p.inError = false
	}
}

func (p *pageReader) add(s string) {
	s = strings.Join(strings.Fields(s), " ")
	switch {
	case s == "" || p.hidden > 0:
		return
	case p.inTitle:
		p.title = s
		return
	}
	p.text = append(p.text, s)
	switch {
	case p.inHeading:
		p.headings = append(p.headings, s)
	case p.inLabel && p.form != nil:
		p.form["labels"] = append(p.form["labels"].([]any), s)
	case p.inError:
		p.errorText = strings.TrimSpace(p.errorText + " " + s)
	case p.element != nil:
		text, _ := p.element["text"].(string)
		p.element["text"] = strings.TrimSpace(text + " " + s)
	}
}

func (p *pageReader) summary() map[string]any {
	m := map[string]any{
		"title": p.title, "forms": p.forms, "links": p.links, "images": p.images, "text": p.text, "headings": p.headings, "bodyClass": p.bodyClass,
	}
	setText(m, "errorText", p.errorText)
	return m
}

// recordedPage returns a recorded page in the same form. The recording leaves
// out empty lists. Our style sheet replaces the inline styles of Auth.js.
func recordedPage(body map[string]any) map[string]any {
	m := map[string]any{"title": body["title"], "bodyClass": body["bodyClass"]}
	for _, name := range []string{"forms", "links", "images", "text", "headings"} {
		m[name] = body[name]
		if body[name] == nil {
			m[name] = []any{}
		}
	}
	if s, ok := body["errorText"]; ok {
		m["errorText"] = s
	}
	return m
}
