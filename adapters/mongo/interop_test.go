package mongo_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/internal/authjs"
)

// TestInterop lets the real @auth/mongodb-adapter and this adapter take turns
// on one database.
func TestInterop(t *testing.T) {
	for _, indexes := range []bool{true, false} {
		t.Run(fmt.Sprintf("our indexes %t", indexes), func(t *testing.T) {
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			a := newAdapter(t, db)
			if indexes {
				require.NoError(t, a.EnsureIndexes(t.Context()))
			}
			js := authjs.Start(t, "../../interop/mongo", os.Getenv(mongoURL), db.Name())
			authjs.Exchange(t, a, js, authjs.Sharing{Nobody: bson.NewObjectID().Hex(), Authenticators: true, Orphans: true, NoKeys: !indexes})
			for _, name := range must(db.ListCollectionNames(t.Context(), bson.D{}))(t) {
				n := must(db.Collection(name).CountDocuments(t.Context(), bson.D{}))(t)
				assert.Truef(t, n == 0, "%d documents are left in %s", n, name)
			}
		})
	}
}
