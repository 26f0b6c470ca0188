// Albums (1) with a song (10, 11) whose topic is liked (5), or 6. NODE_PATH: the folder of the packages.
const names = ['builder/builder', 'ivm/array-view', 'ivm/memory-source', 'ivm/memory-storage']
const modules = names.map((name) => import(`${process.env.NODE_PATH}/@rocicorp/zero/out/zql/src/${name}.js`))
Promise.all(modules).then(([{ buildPipeline }, { ArrayView }, { MemorySource }, { MemoryStorage }]) => {
  const columns = { id: { type: 'number' }, album: { type: 'number' }, topic: { type: 'number' } }
  const sources = Object.fromEntries(['albums', 'songs', 'liked'].map((name) => [name, new MemorySource(name, columns, ['id'])]))
  const decorate = Object.fromEntries(['Input', 'SourceInput', 'FilterInput'].map((name) => [`decorate${name}`, (input) => input]))
  const host = { getSource: (name) => sources[name], createStorage: () => new MemoryStorage(), addEdge() {}, ...decorate }
  const exists = (parent, child, table, where, flip) => ({ type: 'correlatedSubquery', op: 'EXISTS', flip,
    related: { correlation: { parentField: [parent], childField: [child] }, subquery: { table, alias: table, where } } })
  const six = { type: 'simple', op: '=', left: { type: 'column', name: 'topic' }, right: { type: 'literal', value: 6 } }
  const either = { type: 'or', conditions: [exists('topic', 'id', 'liked'), six] }
  const query = { table: 'albums', where: exists('id', 'album', 'songs', either, true) }
  const view = () => new ArrayView(buildPipeline(query, host, 'q'), { singular: false, relationships: {} }, true, () => {})
  for (const id of [1, 10, 11]) [...sources[id > 1 ? 'songs' : 'albums'].push([0, { id, album: 1, topic: 5 }, null])]
  const kept = view();
  [...sources.liked.push([0, { id: 5 }, null])] // Now both songs are found.
  console.log('seen:', JSON.stringify(kept.data.map((row) => row.id)))
  console.log('expected:', JSON.stringify(view().data.map((row) => row.id)))
})
