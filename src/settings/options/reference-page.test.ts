import { expect, test } from 'vitest'
import { optionEntries } from './options.ts'
import { referencePage } from './reference-page.ts'

test('the committed reference page is the generated one', async () => {
  await expect(referencePage()).toMatchFileSnapshot('../../../docs/reference/settings.md')
})

test('the variables that name a server have their sections', () => {
  for (const name of ['HOLDFAST_URL', 'HOLDFAST_TOKEN']) {
    expect(referencePage()).toContain(`### \`${name}\``)
  }
})

test('every setting has its section', () => {
  for (const [, entry] of optionEntries) expect(referencePage()).toContain(`### \`${entry.env}\``)
})
