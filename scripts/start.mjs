/**
 * `npm start`: sets up what is missing, then serves. Arguments go to `holdfast serve`.
 */
import { runChild } from './child.mjs'
import { setup } from './setup.mjs'

const node = await setup()
const args = ['bin/holdfast.mjs', 'serve', ...process.argv.slice(2)]
const { code } = await runChild(node, args, { input: 'inherit' })
process.exit(code)
