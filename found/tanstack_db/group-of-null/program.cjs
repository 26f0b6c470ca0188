// Groups of 1 and of NULL go, and then 1 comes again. NODE_PATH: the folder of the packages.
const { createCollection, createLiveQueryCollection } = require('@tanstack/db')

let source
const sync = { sync: (given) => (source = given).markReady() }
const rows = createCollection({ id: 'rows', getKey: (row) => row.id, startSync: true, sync })
function write(...changes) {
  source.begin()
  for (const [type, id, k] of changes) source.write({ type, value: { id, k } })
  source.commit()
}
const groups = () =>
  createLiveQueryCollection({ query: (q) => q.from({ rows }).groupBy(({ rows }) => rows.k).select(({ rows }) => ({ k: rows.k })), startSync: true })

write(['insert', 1, 1], ['insert', 2, null])
const kept = groups()
write(['delete', 1, 1], ['delete', 2, null])
write(['insert', 3, 1])
console.log('seen:', JSON.stringify(kept.toArray.map((row) => row.k)))
console.log('expected:', JSON.stringify(groups().toArray.map((row) => row.k)))
