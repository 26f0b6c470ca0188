// The least of NULL and 7, of which COUNT counts one. NODE_PATH: the folder of the packages.
const { count, createCollection, createLiveQueryCollection, min } = require('@tanstack/db')

const sync = {
  sync: ({ begin, write, commit, markReady }) => {
    begin()
    for (const [id, a] of [[1, null], [2, 7]]) write({ type: 'insert', value: { id, a } })
    commit()
    markReady()
  },
}
const rows = createCollection({ id: 'rows', getKey: (row) => row.id, startSync: true, sync })
const query = (q) => q.from({ rows }).select(({ rows }) => ({ n: count(rows.a), least: min(rows.a) }))
const [{ n, least }] = createLiveQueryCollection({ query, startSync: true }).toArray
console.log(`seen: ${least} of ${n} value`)
console.log('expected: 7 of 1 value')
