// Two rows of a table that is joined with itself are updated in one commit. NODE_PATH: the folder of the packages.
const { createCollection, createLiveQueryCollection, eq } = require('@tanstack/db')

let source
const sync = { sync: (given) => (source = given).markReady() }
const rows = createCollection({ id: 'rows', getKey: (row) => row.id, startSync: true, sync })
function write(type, changes) {
  source.begin()
  for (const [id, k] of changes) source.write({ type, value: { id, k } })
  source.commit()
}
const query = (q) =>
  q.from({ a: rows }).innerJoin({ b: rows }, ({ a, b }) => eq(a.k, b.k)).select(({ a, b }) => ({ a: a.k, b: b.k }))
const values = (view) => JSON.stringify(view.toArray.map((row) => [row.a, row.b]))

write('insert', [[1, 1], [2, 2]])
const kept = createLiveQueryCollection({ query, startSync: true })
write('update', [[1, 2], [2, 1]])
console.log('seen:', values(kept))
console.log('expected:', values(createLiveQueryCollection({ query, startSync: true })))
