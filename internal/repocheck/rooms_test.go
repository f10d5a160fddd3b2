package repocheck

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ours = "github.com/gatehouse-go/gatehouse/"

// maxMethods is the largest number of methods of a type, with those that it
// gets from embedded types, and of functions of its package that take it.
const maxMethods = 60

// moreMethods are the types with another limit. These limits are never raised.
var moreMethods = map[string]int{
	"auth.engine": 120, // the compiled configuration, which every action of the core uses
	// The adapters have the methods of the contract and those of their kind.
	"adapters/mongo.Adapter":                80,
	"adapters/mongo/mongotest.Handle":       80,
	"adapters/mysql.Adapter":                80,
	"adapters/mysql/mysqltest.Handle":       80,
	"adapters/postgres.Adapter":             80,
	"adapters/postgres/postgrestest.Handle": 80,
	"adapters/sqlite.Adapter":               80,
	"adapters/sqlite/sqlitetest.Handle":     80,
	// The broken adapters implement the contract.
	"adaptertest/internal/mutants.base": 80,
	"adaptertest/internal/mutants.mem":  80,
	"adaptertest/internal/mutants.lite": 90,
	"adaptertest/internal/mutants.with": 80,
}

// TestNoTypeKnowsEverything counts the methods of each type. A type with many
// methods is two types, or has helpers that belong to one file.
func TestNoTypeKnowsEverything(t *testing.T) {
	seen := false
	for _, pkg := range packages(t) {
		methods, functions := methodsAndFunctions(pkg)
		for name, n := range methods {
			key := strings.TrimPrefix(pkg.Path(), ours) + "." + name
			if key == suiteContext {
				seen = true
				if taking := functions[name]; taking > maxContextFunctions {
					t.Errorf("%d functions that kit exports take %s, more than %d", taking, key, maxContextFunctions)
				}
			} else {
				n += functions[name]
			}
			limit, listed := moreMethods[key]
			if !listed {
				limit = maxMethods
			}
			assert.Truef(t, n <= limit, "%s has %d methods and functions that take it, more than %d", key, n, limit)
		}
	}
	assert.Truef(t, seen, "there is no type %s", suiteContext)
}

// The context of a clause has at most maxMethods methods, and the kit exports at
// most 150 functions that take it. These limits are never raised.
const (
	suiteContext        = "adaptertest/internal/kit.Context"
	maxContextFunctions = 150
)

// methodsAndFunctions counts, for each type that a package declares, its methods
// and the functions of the package that take it; for the context of a clause,
// those that the package exports.
func methodsAndFunctions(pkg *types.Package) (methods, functions map[string]int) {
	methods, functions = map[string]int{}, map[string]int{}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		switch obj := scope.Lookup(name).(type) {
		case *types.TypeName:
			if named, ok := obj.Type().(*types.Named); ok && !obj.IsAlias() {
				var t types.Type = types.NewPointer(named)
				if types.IsInterface(named) {
					t = named
				}
				methods[name] = types.NewMethodSet(t).Len()
			}
		case *types.Func:
			taken := map[string]bool{}
			for v := range obj.Signature().Params().Variables() {
				if named := base(v.Type()); named != nil && named.Obj().Pkg() == pkg {
					taken[named.Obj().Name()] = true
				}
			}
			for name := range taken {
				if obj.Exported() || strings.TrimPrefix(pkg.Path(), ours)+"."+name != suiteContext {
					functions[name]++
				}
			}
		}
	}
	return methods, functions
}

// base is the declared type of a parameter, also behind a pointer.
func base(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	if named != nil {
		named = named.Origin()
	}
	return named
}

// maxAuthFiles is the largest number of files of package auth, without tests.
const maxAuthFiles = 76

// TestCoreHasFewFiles counts the files of package auth.
func TestCoreHasFewFiles(t *testing.T) {
	n := len(sources(t, "auth"))
	assert.Truef(t, n != 0 && n <= maxAuthFiles,
		"package auth has %d files without tests, want at most %d", n, maxAuthFiles)
}

// maxRedacting is the largest number of methods on the page of package auth by
// which types print without secrets. This limit is never raised.
const maxRedacting = 50

// TestPageOfAuthIsAboutSigningIn counts the methods that the page of package
// auth shows and nobody calls. Types that only the core makes embed
// redact.Shown in place of them.
func TestPageOfAuthIsAboutSigningIn(t *testing.T) {
	n := 0
	for _, shown := range documentation(t, "auth").Types {
		for _, m := range shown.Methods {
			if slices.Contains([]string{"LogValue", "Format", "MarshalJSON"}, m.Name) {
				n++
			}
		}
	}
	assert.Truef(t, n != 0 && n <= maxRedacting,
		"the page of package auth shows %d methods LogValue, Format and MarshalJSON, want at most %d", n, maxRedacting)
}

// packages returns the packages of the repository, with their types. The types
// of what they import come from the build cache.
func packages(t *testing.T) []*types.Package {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard"}
	for _, dir := range modules(t) {
		args = append(args, "./"+dir+"/...")
	}
	out := output(t, root, []string{"GOWORK="}, "go", args...) // the packages of all modules
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		Standard                bool
	}
	var own []listed
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var l listed
		require.NoError(t, dec.Decode(&l))
		exports[l.ImportPath] = l.Export
		if strings.HasPrefix(l.ImportPath, ours) && len(l.GoFiles) > 0 {
			own = append(own, l)
		}
	}
	fset := token.NewFileSet()
	config := types.Config{
		Importer:         importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
		IgnoreFuncBodies: true, FakeImportC: true,
	}
	var found []*types.Package
	for _, l := range own {
		var files []*ast.File
		for _, name := range l.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
		}
		pkg, err := config.Check(l.ImportPath, fset, files, nil)
		require.NoError(t, err)
		found = append(found, pkg)
	}
	return found
}
