package main

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/matrix"
)

// record writes the JSON report after each clause, so that an interrupted run loses no
// result. The variable names the file of a run that TIME-08 started.
func (c *command) record(p *printer, h adaptertest.Harness) {
	p.started = time.Now()
	if file := os.Getenv("ADAPTERTEST_REPORT"); file != "" {
		c.json, c.page, c.badge = file, "", ""
	}
	if c.json == "" {
		return
	}
	p.save = func([]adaptertest.Result) {
		_ = write(c.json, p.partial(h, c.options).WriteJSON) // the end of the run reports it
	}
}

// files writes what the command line asks for.
func (c *command) files(r *adaptertest.Report) error {
	var errs []error
	if c.json != "" {
		errs = append(errs, write(c.json, r.WriteJSON))
	}
	if c.page != "" {
		m := &matrix.Matrix{
			Made: time.Now(), Duration: r.Duration, Seed: r.Seed,
			Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			Columns: []matrix.Column{
				{Adapter: r.Adapter, Wiring: "through the protocol", Version: r.Version, Report: r},
			},
		}
		errs = append(errs, write(c.page, m.WritePage))
	}
	if c.badge != "" {
		errs = append(errs, write(c.badge, func(w io.Writer) error { return badge.Execute(w, newLabel(r)) }))
	}
	return errors.Join(errs...)
}

// write replaces a file.
func write(name string, content func(io.Writer) error) error {
	f, err := os.Create(name + ".new") //nolint:gosec // the file that the command line names
	if err != nil {
		return err
	}
	if err := errors.Join(content(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), name)
}

// label is the text of a badge. The widths are those of the two halves.
type label struct {
	Text, Color        string
	Left, Right, Width int
}

func newLabel(r *adaptertest.Report) label {
	must, musts := r.Score(adaptertest.Must)
	l := label{Text: fmt.Sprintf("%s, MUST %d/%d", r.Verdict(), must, musts), Color: "#2f8f5b", Left: 84}
	if len(r.Failed()) > 0 {
		l.Color = "#c8372d"
	}
	l.Right = 7*len(l.Text) + 12
	l.Width = l.Left + l.Right
	return l
}

var badge = template.Must(template.New("badge").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-label="adaptertest: {{.Text}}">
<title>adaptertest: {{.Text}}</title>
<rect width="{{.Left}}" height="20" fill="#444"/><rect x="{{.Left}}" width="{{.Right}}" height="20" fill="{{.Color}}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="6" y="14">adaptertest</text><text x="90" y="14">{{.Text}}</text></g>
</svg>
`))
