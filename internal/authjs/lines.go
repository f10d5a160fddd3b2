package authjs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var schemaLine = regexp.MustCompile(`(?m)^-- (?:schema\.prisma, model|Drizzle, table) (\S+): (.*)$`)

// newModel is a model or table that SchemaChanges makes.
var newModel = regexp.MustCompile(`(?ms)^-- (model|export const) .*?^-- \}\)?$`)

var usersTable = regexp.MustCompile(`export const (\w+) = \w+\("user"`)

// WithLines changes a schema file of Prisma or Drizzle as the comments of SchemaChanges say:
// a line takes the place of the line of the same field, or is a new one of the model. A new
// model is added at the end.
func WithLines(t *testing.T, file string, changes []string) string {
	t.Helper()
	lines := strings.Split(file, "\n")
	for _, change := range changes {
		for _, found := range schemaLine.FindAllStringSubmatch(change, -1) {
			model, line := found[1], found[2]
			begin := slices.IndexFunc(lines, func(l string) bool {
				return strings.HasPrefix(l, "model "+model+" {") || strings.Contains(l, `pgTable("`+model+`", {`) || strings.Contains(l, `sqliteTable("`+model+`", {`)
			})
			require.GreaterOrEqualf(t, begin, 0, "the schema file has no %s", model)
			lines = place(lines, begin, line)
		}
		for _, model := range newModel.FindAllString(change, -1) {
			if users := usersTable.FindStringSubmatch(file); users != nil {
				model = strings.ReplaceAll(model, "users.", users[1]+".")
			}
			lines = append(lines, strings.Split(strings.ReplaceAll("\n"+model, "\n-- ", "\n"), "\n")...)
		}
	}
	return strings.Join(lines, "\n")
}

// place puts a line into the model that begins at a line.
func place(lines []string, begin int, line string) []string {
	fields := strings.Fields(line)
	drizzle := strings.Contains(lines[begin], "Table(")
	if drizzle {
		line += ","
	}
	end := begin + slices.IndexFunc(lines[begin:], func(l string) bool { return strings.HasPrefix(l, "}") })
	isKey := strings.HasPrefix(line, "@@") || !strings.HasSuffix(fields[0], ":") && drizzle
	if !isKey {
		for i := begin; i < end; i++ {
			if of := strings.Fields(lines[i]); len(of) > 0 && of[0] == fields[0] {
				lines[i] = "  " + line
				return lines
			}
		}
	} else if drizzle {
		end++ // the keys are an array after the fields
	}
	return slices.Insert(lines, end, "  "+line)
}
