// Documents leave members out: a row with an error has no values.

/**
 * The objects that have all these members.
 * @template {object} Type
 * @template {keyof Type} Key
 * @param {Type[]} objects
 * @param {...Key} keys
 */
export function having(objects, ...keys) {
  /** @param {Type} object @returns {object is Type & Required<Pick<Type, Key>>} */
  const hasAll = (object) => keys.every((key) => object[key] !== undefined);
  return objects.filter(hasAll);
}
