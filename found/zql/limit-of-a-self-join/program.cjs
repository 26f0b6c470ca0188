// Two employees whose boss exists, by a join from the bosses (flip). NODE_PATH: the folder of the packages.
const names = ['builder/builder', 'ivm/array-view', 'ivm/memory-source', 'ivm/memory-storage']
const modules = names.map((name) => import(`${process.env.NODE_PATH}/@rocicorp/zero/out/zql/src/${name}.js`))
Promise.all(modules).then(([{ buildPipeline }, { ArrayView }, { MemorySource }, { MemoryStorage }]) => {
  const emp = new MemorySource('emp', { id: { type: 'number' }, boss: { type: 'number' } }, ['id'])
  const decorate = Object.fromEntries(['Input', 'SourceInput', 'FilterInput'].map((name) => [`decorate${name}`, (input) => input]))
  const host = { getSource: () => emp, createStorage: () => new MemoryStorage(), addEdge() {}, ...decorate }
  const related = { correlation: { parentField: ['boss'], childField: ['id'] }, subquery: { table: 'emp', alias: 'bosses' } }
  const query = { table: 'emp', limit: 2, where: { type: 'correlatedSubquery', op: 'EXISTS', flip: true, related } }
  const view = () => new ArrayView(buildPipeline(query, host, 'q'), { singular: false, relationships: {} }, true, () => {})
  for (const row of [{ id: 1, boss: 2 }, { id: 2, boss: 1 }]) [...emp.push([0, row, null])]
  const kept = view();
  [...emp.push([2, { id: 2, boss: 0 }, { id: 2, boss: 1 }])] // An edit: there is no boss 0.
  console.log('seen:', JSON.stringify(kept.data.map((row) => row.id)))
  console.log('expected:', JSON.stringify(view().data.map((row) => row.id)))
})
