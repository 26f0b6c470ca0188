// Employees with somebody in their team, by team, after a cursor. NODE_PATH: the folder of the packages.
const names = ['builder/builder', 'ivm/array-view', 'ivm/memory-source', 'ivm/memory-storage']
const modules = names.map((name) => import(`${process.env.NODE_PATH}/@rocicorp/zero/out/zql/src/${name}.js`))
Promise.all(modules).then(([{ buildPipeline }, { ArrayView }, { MemorySource }, { MemoryStorage }]) => {
  const emp = new MemorySource('emp', { id: { type: 'number' }, team: { type: 'number' } }, ['id'])
  const decorate = Object.fromEntries(['Input', 'SourceInput', 'FilterInput'].map((name) => [`decorate${name}`, (input) => input]))
  const host = { getSource: () => emp, createStorage: () => new MemoryStorage(), addEdge() {}, ...decorate }
  const related = { correlation: { parentField: ['team'], childField: ['team'] }, subquery: { table: 'emp', alias: 'team' } }
  const where = { type: 'correlatedSubquery', op: 'EXISTS', related }
  const query = { table: 'emp', where, start: { row: { team: 2, id: 9 }, exclusive: true }, orderBy: [['team', 'desc']] }
  const view = () => new ArrayView(buildPipeline(query, host, 'q'), { singular: false, relationships: {} }, true, () => {})
  const kept = view();
  [...emp.push([0, { id: 4, team: 1 }, null])] // It comes after the cursor, and matches itself.
  console.log('seen:', JSON.stringify(kept.data.map((row) => row.id)))
  console.log('expected:', JSON.stringify(view().data.map((row) => row.id)))
})
