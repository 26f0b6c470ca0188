// The average of NULL and 7, beside their SUM and COUNT. NODE_PATH: the folder of the packages.
const { avg, count, createCollection, createLiveQueryCollection, sum } = require('@tanstack/db')

const sync = {
  sync: ({ begin, write, commit, markReady }) => {
    begin()
    for (const [id, a] of [[1, null], [2, 7]]) write({ type: 'insert', value: { id, a } })
    commit()
    markReady()
  },
}
const rows = createCollection({ id: 'rows', getKey: (row) => row.id, startSync: true, sync })
const query = (q) => q.from({ rows }).select(({ rows }) => ({ mean: avg(rows.a), s: sum(rows.a), n: count(rows.a) }))
const [{ mean, s, n }] = createLiveQueryCollection({ query, startSync: true }).toArray
console.log('seen:', mean)
console.log('expected:', s / n)
