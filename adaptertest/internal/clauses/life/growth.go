package life

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The limits for growth.
const (
	// growthLimit is how much longer a lookup may take among a million users.
	growthLimit = 3 * time.Millisecond
	// growthNoise is how many times the spread of the other lookups growth must be.
	growthNoise = 3
	// growthDoubts is how many times a lookup that seems to grow is measured again.
	growthDoubts = 2
	// comparedWith is the least number of other lookups that are measured with it.
	comparedWith = 7
	// leastFactor is how many times as long a growing lookup takes at least, by the small store and more than the median
	// lookup. A lookup that grows as much as the others do takes commonFactor times as long: a server can become slower
	// for one store, for example while it collects statistics about its tables. By the other lookups alone it is
	// clearFactor, because other work on the machine can slow down some lookups more than others.
	leastFactor  = 4. / 3
	commonFactor = 3
	clearFactor  = 4
)

// probe is a lookup that is measured.
type probe struct {
	name string
	call func() error
}

// level is what was measured of a probe at one population: times in the store and in the small one, which three
// quarters of the calls exceed. A busy machine can make a call slow, but not fast.
type level struct{ took, small time.Duration }

// growth is what was measured of all probes at several populations.
type growth struct {
	names  []string
	sizes  []int
	levels [][]level // at each population, of each probe
}

// lookupsDoNotSlowDown is VOL-04. Each lookup is measured for the newest record, for one in the middle and for
// none, at three populations, or two in the quick form and in a hurried run. One that seems to grow is measured
// again twice, at a large population. A handle that was opened since then makes these calls, because a statement
// that was planned for a small store may read all of a large one.
func lookupsDoNotSlowDown(c *kit.Context) {
	sizes := []int{kit.LargePopulation / 2, kit.LargePopulation}
	switch {
	case c.Brief:
		sizes = []int{kit.LargePopulation / 16}
	case c.Scale < 1:
		sizes = []int{kit.LargePopulation / 8}
	case c.Hurried:
		sizes = []int{kit.LargePopulation / 4}
	}
	store, small := filledStore{a: c.Raw}, smallStore(c)
	store.grow(c, kit.SmallPopulation, time.Hour)
	var g growth
	g.measure(c, c.Raw, &store, small, nil)
	for _, size := range sizes {
		store.grow(c, size, kit.PopulateTime/c.Haste)
		g.measure(c, c.Raw, &store, small, nil)
	}
	var suspects []int
	for i, name := range g.names {
		c.Notef("%s takes %s", name, g.text(i))
		if g.grows(i) {
			suspects = append(suspects, i)
		}
	}
	if len(suspects) == 0 {
		return
	}
	store.grow(c, kit.LargePopulation, 2*kit.PopulateTime) // in the quick form, or if the store is slow
	handles := kit.Handles(c)
	for doubt := 0; doubt < growthDoubts && len(suspects) > 0; doubt++ {
		which := g.withOthers(suspects)
		again := growth{sizes: slices.Clone(g.sizes[:2]), levels: [][]level{chosen(g.levels[0], which), chosen(g.levels[1], which)}}
		again.measure(c, handles[len(handles)-1], &store, small, which)
		var confirmed []int
		for j, i := range suspects {
			if again.grows(j) {
				confirmed = append(confirmed, i)
			} else {
				c.Notef("%s, measured again, takes %s", again.names[j], again.text(j))
			}
		}
		suspects = confirmed
	}
	for _, i := range suspects {
		million := max(g.million(i, g.bySmall), g.million(i, g.byOthers)) + g.levels[0][i].took
		c.Errorf("%s takes %s: it grows with the population, and would take about %v among a million", g.names[i],
			g.text(i), million.Round(time.Millisecond))
	}
}

// withOthers returns the indices, and more of other probes to compare with.
func (g *growth) withOthers(which []int) []int {
	all := slices.Clone(which)
	for i := range g.names {
		if len(all) <= 2*len(which)+comparedWith && !slices.Contains(which, i) {
			all = append(all, i)
		}
	}
	return all
}

// chosen returns the elements at the indices.
func chosen[T any](from []T, which []int) []T {
	return kit.Map(which, func(i int) T { return from[i] })
}

// smallStore opens another store and fills it with a small population. If all adapters
// of the harness and all namespaces share one store, it is the same store.
func smallStore(c *kit.Context) *filledStore {
	p := &filledStore{a: c.Harness().New(c.TB)}
	p.grow(c, 1, time.Hour)
	if c.Has(kit.AbilityNamespace) && finds(c, p.people[0]) {
		if a, err := c.Harness().Namespace(c.TB, c.Raw, "growth"+c.Run.Nonce); err == nil {
			p = &filledStore{a: a}
		}
	}
	p.grow(c, kit.SmallPopulation, time.Hour)
	return p
}

// finds reports whether the adapter finds a record of the user.
func finds(c *kit.Context, b *kit.Records) bool {
	return slices.ContainsFunc(kit.Lookups(c), func(k kit.Method) bool {
		key, ok := b.Key(k)
		if !ok || k.Name == "UseVerificationToken" {
			return false
		}
		got, err := k.Call(c, c.Raw, key)
		return err == nil && got != nil
	})
}

// filledStore is a store, and the users whose records fill it.
type filledStore struct {
	a      adapter.Adapter
	mu     sync.Mutex
	people []*kit.Records
}

// grow creates users until there are so many, or until the limit.
func (p *filledStore) grow(c *kit.Context, size int, limit time.Duration) {
	end := time.Now().Add(limit)
	kit.Populate(c, size-len(p.people), func(i int) {
		if i > 300 && time.Now().After(end) {
			return
		}
		b := kit.Newcomer(c, p.a)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.people = append(p.people, b)
	})
}

// measure measures the lookups in a store at its present population, and in the small one: all lookups, or only
// those whose indices are given. In each round it calls each probe in both stores, in another order than before.
func (g *growth) measure(c *kit.Context, a adapter.Adapter, store, small *filledStore, which []int) {
	probes, others := store.probes(c, a), small.probes(c, small.a)
	if which != nil {
		probes, others = chosen(probes, which), chosen(others, which)
	}
	took := func(p probe) time.Duration {
		begin := time.Now()
		err := p.call()
		d := time.Since(begin)
		if err != nil {
			c.Fatalf("%s: %v", p.name, err)
		}
		return max(d, 1)
	}
	times, inSmall := make([][]time.Duration, len(probes)), make([][]time.Duration, len(probes))
	fewest := kit.FewestRounds
	if c.Brief {
		fewest /= 2
	}
	start := time.Now()
	goesOn := func(r int) bool {
		elapsed := time.Since(start)
		return r < kit.FewestSlow || r < fewest && elapsed < kit.SlowTime || r < kit.GrowthRounds && elapsed < kit.GrowthTime/c.Haste
	}
	for r := 0; goesOn(r); r++ {
		for _, i := range c.Rand.Perm(len(probes)) {
			if r%2 == 0 {
				inSmall[i] = append(inSmall[i], took(others[i]))
				times[i] = append(times[i], took(probes[i]))
			} else {
				times[i] = append(times[i], took(probes[i]))
				inSmall[i] = append(inSmall[i], took(others[i]))
			}
		}
	}
	quarter := func(times []time.Duration) time.Duration { return slices.Sorted(slices.Values(times))[len(times)/4] }
	g.names = g.names[:0]
	levels := make([]level, len(probes))
	for i, p := range probes {
		g.names = append(g.names, p.name)
		levels[i] = level{quarter(times[i]), quarter(inSmall[i])}
	}
	g.sizes, g.levels = append(g.sizes, len(store.people)), append(g.levels, levels)
}

// factors are how many times as long each probe takes at population k as at the first
// one, on a machine of the same speed: the logarithms, and their spread without growth.
type factors func(k int) (logs []float64, spread float64)

// bySmall are the factors by the ratio to the small store. At the first population
// this ratio should be the same for all lookups, so one below the median is an error.
func (g *growth) bySmall(k int) (logs []float64, spread float64) {
	ratios := func(k int) []float64 {
		return kit.Map(g.levels[k], func(x level) float64 { return math.Log(float64(x.took) / float64(x.small)) })
	}
	first := ratios(0)
	usual := kit.Median(slices.Clone(first))
	for i, now := range ratios(k) {
		logs = append(logs, now-max(first[i], usual))
	}
	_, spread = usually(logs)
	return logs, spread
}

// byExcess are the factors by the ratio to the small store, without what the median lookup grows.
func (g *growth) byExcess(k int) (logs []float64, spread float64) {
	logs, spread = g.bySmall(k)
	common := max(0, kit.Median(slices.Clone(logs)))
	for i := range logs {
		logs[i] -= common
	}
	return logs, spread
}

// byOthers are the factors by the ratio to the other lookups. At the first population
// this ratio should be the same in both stores, so the lower one is an error.
func (g *growth) byOthers(k int) (logs []float64, spread float64) {
	shares := func(k int, of func(level) time.Duration) []float64 {
		all := kit.Map(g.levels[k], func(x level) float64 { return math.Log(float64(of(x))) })
		usual := kit.Median(slices.Clone(all))
		for i := range all {
			all[i] -= usual
		}
		return all
	}
	took, small := func(x level) time.Duration { return x.took }, func(x level) time.Duration { return x.small }
	first, second := shares(0, took), shares(0, small)
	for i, now := range shares(k, took) {
		logs = append(logs, now-max(first[i], second[i]))
	}
	usual, spread := usually(logs)
	for i := range logs {
		logs[i] -= usual
	}
	return logs, spread
}

// usually returns the median and, from the lower half, the standard deviation that a normal distribution would have.
func usually(logs []float64) (middle, spread float64) {
	s := slices.Sorted(slices.Values(logs))
	middle = s[len(s)/2]
	return middle, (middle - s[len(s)/4]) / 0.67
}

// grows reports whether probe i grows with the population.
func (g *growth) grows(i int) bool {
	return g.growsBy(i, g.byExcess, leastFactor) || g.growsBy(i, g.bySmall, commonFactor) || g.growsBy(i, g.byOthers, clearFactor)
}

func (g *growth) growsBy(i int, by factors, least float64) bool {
	last := len(g.sizes) - 1
	logs, spread := by(last)
	return logs[i] > max(math.Log(least), growthNoise*spread) &&
		g.grown(i, 1, by) > min(g.grown(i, last, by), g.levels[0][i].took)/8 && g.million(i, by) > growthLimit
}

// grown returns how much longer probe i takes at population k than at the first one.
func (g *growth) grown(i, k int, by factors) time.Duration {
	logs, _ := by(k)
	return time.Duration(float64(g.levels[0][i].took) * (math.Exp(logs[i]) - 1))
}

// million projects the growth of probe i to a million users, along the line that fits the populations best.
func (g *growth) million(i int, by factors) time.Duration {
	var x, y, xx, xy float64
	n := float64(len(g.sizes))
	for k, size := range g.sizes {
		size, grown := float64(size), 0.
		if k > 0 {
			grown = float64(g.grown(i, k, by))
		}
		x, y, xx, xy = x+size/n, y+grown/n, xx+size*size/n, xy+size*grown/n
	}
	return time.Duration((xy - x*y) / (xx - x*x) * 1e6)
}

// text says what was measured of probe i.
func (g *growth) text(i int) string {
	var took, sizes, small, others []string
	for k, size := range g.sizes {
		took = append(took, g.levels[k][i].took.String())
		sizes = append(sizes, fmt.Sprint(size))
		if k > 0 {
			bySmall, _ := g.bySmall(k)
			byOthers, _ := g.byOthers(k)
			small, others = append(small, fmt.Sprintf("%.2f", math.Exp(bySmall[i]))), append(others, fmt.Sprintf("%.2f", math.Exp(byOthers[i])))
		}
	}
	return fmt.Sprintf("%s among %s users (by the small store %s times as long, by the other lookups %s)",
		series(took), series(sizes), series(small), series(others))
}

// series joins words with commas and "and".
func series(words []string) string {
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" and "+words[last], " and ")
}

// probes are the lookups of a user that is new, of one in the middle, and of nobody.
func (p *filledStore) probes(c *kit.Context, a adapter.Adapter) (probes []probe) {
	newest := kit.Newcomer(c, a)
	p.people = append(p.people, newest)
	middle := p.people[len(p.people)/2]
	for _, k := range kit.Lookups(c) {
		uses := k.Name == "UseVerificationToken"
		for _, who := range []struct {
			name string
			b    *kit.Records
		}{{"the newest record", newest}, {"a record in the middle", middle}} {
			key, ok := who.b.Key(k)
			if !ok || uses {
				continue
			}
			probes = append(probes, probe{name: k.Name + " of " + who.name, call: func() error {
				got, err := k.Call(c, a, key)
				if err == nil && got == nil {
					err = fmt.Errorf("%s(%s): absent", k.Name, kit.ShowKey(key))
				}
				return err
			}})
		}
		probes = append(probes, probe{name: k.Name + " of nobody", call: func() error {
			key := make([]string, len(k.Parts))
			for i, part := range k.Parts {
				switch part {
				case "user id":
					key[i] = c.ID()
				case "e-mail", "identifier":
					key[i] = kit.Address(c, "nobody")
				default:
					key[i] = c.Unique("nobody")
				}
			}
			_, err := k.Call(c, a, key)
			return err
		}})
	}
	return probes
}
