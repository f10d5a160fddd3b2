package golden_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// page is what a browser makes of an HTML body, in the form of the recording:
// title, error text, forms with their inputs and buttons, links and images.
func page(body string) (map[string]any, error) {
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	p := pageReader{forms: []any{}, links: []any{}, images: []any{}}
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
	title, errorText     string
	forms, links, images []any
	form                 map[string]any // the open form
	element              map[string]any // the open link or button, whose text is wanted
	elementName          string
	inTitle, inError     bool
	hidden               int // depth in style and script
}

func attributes(e xml.StartElement) map[string]any {
	m := map[string]any{}
	for _, a := range e.Attr {
		name := strings.ToLower(a.Name.Local)
		m[name] = a.Value
		if a.Value == name { // how the reader writes an attribute without a value
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
		p.form = map[string]any{"action": a["action"], "method": strings.ToUpper(method), "inputs": []any{}, "buttons": []any{}}
		p.forms = append(p.forms, p.form)
	case "input":
		if p.form != nil {
			p.form["inputs"] = append(p.form["inputs"].([]any), pick(a, "type", "name", "value", "placeholder", "required"))
		}
	case "button":
		p.element, p.elementName = pick(a, "type"), name
		p.element["text"] = ""
		if p.form != nil {
			p.form["buttons"] = append(p.form["buttons"].([]any), p.element)
		}
	case "a":
		p.element, p.elementName = pick(a, "href"), name
		p.links = append(p.links, p.element)
		p.element["text"] = ""
	case "img":
		p.images = append(p.images, pick(a, "src"))
	}
	if class == "error" && p.title == "Sign In" { // on the error page it is the whole page
		p.inError = true
	}
}

// pick keeps some attributes.
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
	case p.inTitle:
		p.title = s
	case p.inError:
		p.errorText = strings.TrimSpace(p.errorText + " " + s)
	case p.element != nil:
		text, _ := p.element["text"].(string)
		p.element["text"] = strings.TrimSpace(text + " " + s)
	}
}

func (p *pageReader) summary() map[string]any {
	m := map[string]any{"title": p.title, "forms": p.forms, "links": p.links, "images": p.images}
	setText(m, "errorText", p.errorText)
	return m
}

// recordedPage reduces a recorded page to the same form.
func recordedPage(body map[string]any) map[string]any {
	m := map[string]any{"title": body["title"], "forms": []any{}, "links": []any{}, "images": []any{}}
	if s, ok := body["errorText"]; ok {
		m["errorText"] = s
	}
	for _, f := range items(body["forms"]) {
		f := f.(map[string]any)
		form := map[string]any{"action": f["action"], "method": f["method"], "inputs": []any{}, "buttons": []any{}}
		for _, i := range items(f["inputs"]) {
			form["inputs"] = append(form["inputs"].([]any), pick(i.(map[string]any), "type", "name", "value", "placeholder", "required"))
		}
		for _, b := range items(f["buttons"]) {
			form["buttons"] = append(form["buttons"].([]any), pick(b.(map[string]any), "type", "text"))
		}
		m["forms"] = append(m["forms"].([]any), form)
	}
	for _, l := range items(body["links"]) {
		m["links"] = append(m["links"].([]any), pick(l.(map[string]any), "href", "text"))
	}
	for _, l := range items(body["images"]) {
		m["images"] = append(m["images"].([]any), pick(l.(map[string]any), "src"))
	}
	return m
}
