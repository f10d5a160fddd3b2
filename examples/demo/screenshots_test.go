package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	pictures   = "screenshots" // beside the README, which shows them
	maxPicture = 40 << 10      // bytes
	maxAll     = 1 << 20
)

// sheet puts four pictures of a page on one: those of a phone, light and dark, side by
// side, and right of them those of a desktop at half their size, one below the other.
func sheet(t *testing.T, phone, desktop [][]byte) []byte {
	t.Helper()
	var parts []image.Image
	for _, encoded := range slices.Concat(phone, desktop) {
		decoded, err := png.Decode(bytes.NewReader(encoded))
		require.NoError(t, err)
		parts = append(parts, decoded)
	}
	parts[2], parts[3] = half(parts[2]), half(parts[3])
	const gap = 8
	wide := func(i int) int { return parts[i].Bounds().Dx() }
	high := func(i int) int { return parts[i].Bounds().Dy() }
	whole := image.NewRGBA(image.Rect(0, 0, wide(0)+wide(1)+wide(2)+2*gap, max(high(0), high(1), high(2)+high(3)+gap)))
	draw.Draw(whole, whole.Bounds(), image.White, image.Point{}, draw.Src)
	second, third := wide(0)+gap, wide(0)+wide(1)+2*gap
	for i, at := range []image.Point{{}, {second, 0}, {third, 0}, {third, high(2) + gap}} {
		draw.Draw(whole, parts[i].Bounds().Add(at), parts[i], image.Point{}, draw.Src)
	}
	reduced := image.NewPaletted(whole.Bounds(), commonColors(whole, 24))
	draw.Draw(reduced, reduced.Bounds(), whole, image.Point{}, draw.Src)
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, reduced))
	return b.Bytes()
}

// half is a picture at half its size.
func half(p image.Image) image.Image {
	from := p.Bounds()
	small := image.NewRGBA(image.Rect(0, 0, from.Dx()/2, from.Dy()/2))
	for y := range small.Bounds().Dy() {
		for x := range small.Bounds().Dx() {
			var sum [3]uint32
			for i := range 4 {
				r, g, b, _ := p.At(2*x+i%2, 2*y+i/2).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r, sum[1]+g, sum[2]+b
			}
			small.SetRGBA(x, y, color.RGBA{uint8(sum[0] >> 10), uint8(sum[1] >> 10), uint8(sum[2] >> 10), 255})
		}
	}
	return small
}

// commonColors are the n most frequent colours of a picture that differ from each
// other.
func commonColors(p *image.RGBA, n int) color.Palette {
	found := map[color.RGBA]int{}
	for i := 0; i < len(p.Pix); i += 4 {
		found[color.RGBA{p.Pix[i], p.Pix[i+1], p.Pix[i+2], 255}]++
	}
	byCount := slices.SortedFunc(maps.Keys(found), func(a, b color.RGBA) int {
		return cmp.Or(found[b]-found[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var chosen color.Palette
	for _, apart := range []int{6, 3, 0} { // in parts of 255
		for _, c := range byCount {
			if len(chosen) < n && !slices.ContainsFunc(chosen, func(o color.Color) bool { return near(o, c, apart) }) {
				chosen = append(chosen, c)
			}
		}
	}
	return chosen
}

// near reports whether no part of two colours differs by more.
func near(o color.Color, c color.RGBA, by int) bool {
	p, ok := o.(color.RGBA)
	differ := func(a, b uint8) bool { return max(a, b)-min(a, b) > uint8(by) }
	return ok && !differ(p.R, c.R) && !differ(p.G, c.G) && !differ(p.B, c.B)
}

// TestReadmeShowsThePictures: the README shows each picture with a text, and none that
// is not there. They are small. TestLooks and the like say that each page has one.
func TestReadmeShowsThePictures(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, m := range regexp.MustCompile(`!\[([^\]]*)\]\((`+pictures+`/[^)]*)\)`).FindAllStringSubmatch(string(text), -1) {
		if shown[m[2]] = true; len(strings.Fields(m[1])) < 2 {
			t.Errorf("%s has the text %q", m[2], m[1])
		}
	}
	files, err := filepath.Glob(pictures + "/*")
	require.Truef(t, err == nil && len(files) != 0, "no pictures %v", err)
	var all int64
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		if all += info.Size(); info.Size() > maxPicture || !shown[filepath.ToSlash(file)] {
			t.Errorf("%s has %d bytes, shown %v", file, info.Size(), shown[filepath.ToSlash(file)])
		}
		delete(shown, filepath.ToSlash(file))
	}
	assert.Truef(t, len(shown) <= 0 && all <= maxAll,
		"the pictures have %d bytes, and these are not there: %v", all, shown)
}
