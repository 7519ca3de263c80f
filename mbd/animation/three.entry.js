// What the viewer uses of three.js; rebuild.sh makes three.bundle.js of it.
export {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, CatmullRomCurve3, Color,
  ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, EdgesGeometry, GridHelper, Group,
  HemisphereLight, InstancedBufferAttribute, InstancedMesh, Line, LineBasicMaterial, LineSegments,
  Matrix4, Mesh, MeshStandardMaterial, PerspectiveCamera, Quaternion, Raycaster, Scene,
  SphereGeometry, TubeGeometry, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
export { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
